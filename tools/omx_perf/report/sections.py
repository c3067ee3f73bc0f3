# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Sections of the report on Fast Messages, layers, GAMMA, frames and Open-MX. Each takes the run and the page."""
import figures
import pictures
import published
from page import number, size

FRAMES = ("9000", "1500", "256")
LAYERS = {"mx": "MX", "fm1": "FM 1.1", "fm2": "FM 2.x", "mpi": "MPI over MX", "tcp": "MPI over TCP"}
UNITS = "us, MB/s of 10^6 bytes, lengths in bytes"


def stream(run, layer, frame="9000"):
    """{length: us per message} of a layer's streams."""
    if layer == "mx":
        return run.curve(f"mx-stretch-{frame}", "min_us")
    name = {"fm1": f"fm-whole-{frame}", "fm2": f"fm-streams-{frame}", "mpi": "mpi-flow-mx", "tcp": "mpi-flow-tcp"}[layer]
    if layer in ("mpi", "tcp") and frame != "9000":
        return {}
    return run.curve(name, "us", what="stream")


def one_way(run, layer, frame):
    if layer == "mx":
        return run.curve(f"mx-trials-{frame}", "mean_us")
    return run.curve(f"fm-{'whole' if layer == 'fm1' else 'streams'}-{frame}", "us", what="latency")


def cells(found):
    """Figures as texts; an intercept that is not above 0, and what is made of it, is noise."""
    texts = {name: number(value) for name, value in found._asdict().items()}
    for name, of in (("t0", found.t0), ("product", found.t0), ("fit_t0", found.fit_t0)):
        if of <= 0:
            texts[name] = "noise"
    return list(texts.values())


def fast_messages(run, page):
    page.add("## Fast Messages: t0, r_inf, n_1/2, l",
             f"Streams of {run.fact('count')} messages in one stretch, one answer at the end, the best of three; l is the mean of "
             f"{run.fact('trials')} ping-pongs, one way, from the send to the return of the handler. t0 is the intercept of "
             f"the time per message over lengths up to {figures.SMALLEST} bytes; r_inf the best rate; n_1/2 the first length "
             "that reaches half of it, interpolated. Beside them t0 x r_inf, and the fit T(N) = t0 + N / r_inf over all "
             "lengths. The shortest frames that the wire knows are of 256 bytes, so FM's of 128 bytes appear as the length "
             "128, in the last columns and in the picture. \"noise\" stands for an intercept that is not above 0: something "
             "else used the processors.")
    rows = []
    for frame in FRAMES:
        for layer in ("mx", "fm1", "fm2"):
            found = figures.fast_messages(stream(run, layer, frame))
            if found:
                delays = one_way(run, layer, frame)
                rates = figures.rates_of(stream(run, layer, frame))
                rows.append([f"{LAYERS[layer]}, frames of {frame}", *cells(found), number(delays.get(16)),
                             number(delays.get(128)), number(rates.get(128))])
    for name, (t0, r_inf, half, short, packet) in published.FAST_MESSAGES:
        rows.append([f"published: {name}", t0, r_inf, half, "-", "-", "-", short, packet, "16.2" if "1.0 (" in name else "-"])
    page.table("fm", [f"layer ({UNITS})", "t0", "r_inf", "n_1/2", "t0 x r_inf", "fit: t0", "fit: r_inf", "l, 16 B",
                      "l, 128 B", "r, 128 B"], rows)
    page.add(f"Published: {published.FM1}; {published.FM2}.")
    curves = [(f"{LAYERS[layer]}, {frame}", layer, frame) for frame in FRAMES for layer in ("mx", "fm2")]
    if pictures.draw(f"{page.folder}/fm.svg", "Fast Messages' figures: streams and ping-pongs",
                     f"{run.fact('count')} messages of each length; frames of 9000, 1500 and 256 bytes",
                     ("log", "Bandwidth of a stream", "MB/s",
                      [(name, figures.rates_of(stream(run, layer, frame))) for name, layer, frame in curves]),
                     ("log", "One way of a message, l", "µs", [(name, one_way(run, layer, frame))
                                                               for name, layer, frame in curves])):
        page.picture("Bandwidth and latency over the length", "fm")


def layers(run, page):
    page.add("## Layers over MX: what of its bandwidth is left",
             "100 x r_layer(N) / r_MX(N), as figure 6 (b) of the FM 2.x paper plots it: one streaming test, one run, frames "
             "of 9000 bytes.")
    base = stream(run, "mx")
    shares = {layer: figures.efficiency(stream(run, layer), base) for layer in ("fm1", "fm2", "mpi")}
    shares = {layer: curve for layer, curve in shares.items() if curve}
    lengths = sorted({n for curve in shares.values() for n in curve})
    rates = figures.rates_of(base)
    rows = [[str(n), number(rates.get(n))] + [number(curve.get(n)) for curve in shares.values()] for n in lengths]
    page.table("layers", ["bytes", "MX MB/s"] + [f"{LAYERS[layer]}, %" for layer in shares], rows)
    page.add("Published, MPI-FM as a part of FM in %: " +
             "; ".join(f"{name}: {value}" for name, value in published.EFFICIENCY) + ".")
    curves = [(LAYERS[layer], figures.rates_of(stream(run, layer))) for layer in ("mx", *shares)]
    if pictures.draw(f"{page.folder}/layers.svg", "Layers over MX", "one streaming test, one run",
                     ("log", "Bandwidth of a stream", "MB/s", curves),
                     ("share", "Part of MX's", "%", [("MX", dict.fromkeys(base, 100))] +
                      [(LAYERS[layer], curve) for layer, curve in shares.items()])):
        page.picture("Bandwidth of layers, and their part of MX's", "layers")


def gamma(run, page):
    page.add("## GAMMA's definitions: D(S), T(S), B, H",
             f"D(S) is half the round trip of a ping-pong, the mean of {run.fact('trials')} trials, the best of "
             f"{run.fact('runs')} runs (one run where a frame of 1500 is named). Latency is D of the shortest message: 0 bytes "
             "for MX, 1 for TCP. T(S) = S / D(S) is the end-to-end throughput, B the limit of (S - Smin) / (D(S) - D(Smin)), "
             "taken at the longest message; H solves T(H) = B / 2. The transmission throughput is that of a stream.")
    subjects = [("MX, frames of 9000", run.best_of_runs("mx-trials")), ("TCP, frames of 9000", run.best_of_runs("tcp-trials")),
                ("MX, frames of 1500", run.curve("mx-trials-1500", "mean_us")),
                ("TCP, frames of 1500", run.curve("tcp-trials-1500", "mean_us"))]
    pushed = run.curve("mx-stream", "MB_s")
    rows = []
    for name, delays in subjects:
        found = figures.gamma(delays)
        if found:
            rows.append([name, number(found.latency), number(found.asymptotic), number(found.half) if found.half else "noise", size(found.longest),
                         number(max(pushed.values())) if pushed and name == subjects[0][0] else "-"])
    rows += [[f"published: {name}", latency, b, half, "-", "-"] for name, (latency, b, half) in published.GAMMA_ROWS]
    page.table("gamma", [f"({UNITS})", "latency", "B", "H", "longest", "transmission, best"], rows)
    if pictures.draw(f"{page.folder}/gamma.svg", "GAMMA's figures", "ping-pongs, and a stream one way; segmentation offloads off",
                     ("log", "Message delay D(S)", "µs", subjects),
                     ("log", "Throughput", "MB/s", [(f"{name.split(',')[0]}: T(S)", figures.rates_of(delays)) for name, delays in subjects[:2]] +
                      [("MX: transmission", pushed)])):
        page.picture("Delay, and end-to-end beside transmission throughput", "gamma")


def frames(run, page):
    page.add("## Influence of the MTU", "The same ping-pong of MX with frames of three sizes: D(S) in us.")
    curves = {frame: run.curve(f"mx-trials-{frame}", "mean_us") for frame in FRAMES}
    lengths = sorted(set.intersection(*(set(curve) for curve in curves.values())))
    page.table("mtu", ["bytes"] + [f"frames of {frame}" for frame in FRAMES] + ["1500 / 9000"],
               [[str(n)] + [number(curves[frame][n]) for frame in FRAMES] +
                [number(curves["1500"][n] / curves["9000"][n])] for n in lengths])
    page.add(f"Published (Open-MX, 2011), from 1500 to 9000: {published.MTU}.")
    named = [(f"frames of {frame}", curves[frame]) for frame in FRAMES]
    if pictures.draw(f"{page.folder}/mtu.svg", "Influence of the MTU", "ping-pong of MX",
                     ("log", "Message delay D(S)", "µs", named),
                     ("log", "End-to-end throughput T(S)", "MB/s", [(n, figures.rates_of(c)) for n, c in named])):
        page.picture("Delay and throughput for three frame sizes", "mtu")


def open_mx(run, page):
    page.add("## Open-MX's tables: MPI over EtherMX against MPI over TCP",
             f"{run.fact('ranks')} ranks on two hosts, operations as the Intel MPI benchmarks have them; the slowest rank's time, "
             "medians, segmentation offloads of TCP off. The gain is T_TCP / T_EtherMX - 1 in %, which the published "
             "numbers imply.")
    times = {what: {(row["pattern"], int(row["bytes"])): float(row["median_us"]) for row in run.rows(f"mpi-collectives-{what}")}
             for what in ("mx", "tcp")}
    gains = figures.speedups(times["mx"], times["tcp"])
    rows = []
    for operation, table in published.COLLECTIVES.items():
        for length, value in table.items():
            key = (operation, length)
            if key in gains:
                rows.append([operation, size(length) if length else "-", number(times["mx"][key]), number(times["tcp"][key]),
                             f"{gains[key]:+.3g}", f"{value:+.3g}"])
    page.table("collectives", ["operation", "length", "EtherMX us", "TCP us", "gain %", "published gain % (2011)"], rows)
    page.add(f"Published: {published.OPEN_MX}.")
    lengths = sorted({length for _, length in gains if length})
    if pictures.draw(f"{page.folder}/collectives.svg", "MPI over EtherMX against MPI over TCP",
                     f"{run.fact('ranks')} ranks on two hosts; above 1 EtherMX is ahead",
                     *[("log", title, "ratio", [(operation, {n: 1 + gains[operation, n] / 100 for n in lengths
                                                            if (operation, n) in gains}) for operation in operations])
                       for title, operations in (("T_TCP / T_EtherMX", ("sendrecv", "exchange", "allreduce", "reduce", "bcast")),
                                                 ("the others", ("allgather", "gather", "scatter", "alltoall")))]):
        page.picture("Gain of collectives over the length", "collectives")
    ours = run.best_of_runs("mx-trials"), run.best_of_runs("tcp-trials")
    page.add("Latency of the smallest message, half a round trip:")
    rows = [[name, number(curve[min(curve)]), size(min(curve))] for name, curve in zip(("MX", "TCP"), ours) if curve]
    page.table("latency", ["", "us", "length"], rows + [[f"published: {n}", us, "-"] for n, us in published.OPEN_MX_LATENCY])


def elsewhere(_run, page):
    page.add("## Copy offload and pinning",
             "Not measured here: both are the kernel module's, and these boards are the engine's. The module hands large "
             "copies to a DMA engine where the machine has one, and pins the pages of large messages; `omx_perf --report` "
             "needs no module, so it says nothing of them. How to measure them: attach a board to the module (ethermx(4): "
             "parameters `dma`, `dma_frame_min`, `dma_message_min`, `keep_ms`; its file `memory` in debugfs counts pages), then "
             "`omx_perf -S 32K` with other parameters; `tests/bench/kernel` does so on emulated machines.")
