# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Section of the report on EMP: latency, batches of messages, throughput against the processor's share."""
import pictures
import published
from page import number, size

SOURCES = {"MX": "mx-batches", "MPI over MX": "mpi-batches-mx", "MPI over TCP": "mpi-batches-tcp"}
MESSAGES = 5  # of a batch, each way
FIGURES = ("bytes", "count", "work_us", "loop_us", "isend_us", "irecv_us", "wait_us")


def loops(run, name):
    """Rows as numbers, in the order of the work."""
    rows = [{key: float(row[key]) for key in FIGURES} for row in run.rows(name)]
    return sorted(rows, key=lambda row: row["work_us"])


def curve(rows):
    """{share of the processor for the program's work, %: MB/s of both ways together}."""
    return {100 * row["work_us"] / row["loop_us"]: 2 * MESSAGES * row["bytes"] / row["loop_us"] for row in rows}


def batch_rows(found):
    """Times in each call, with so much work that all is done when it ends: a batch, and one message of it."""
    rows = []
    for name, measured in found.items():
        last = measured[-1]
        times = [last["isend_us"], last["irecv_us"], last["wait_us"]]
        times.append(sum(times))
        rows.append([f"{name}: the batch", *map(number, times)])
        rows.append([f"{name}: a message", *(number(us / MESSAGES) for us in times)])
    return rows + [[f"published: {name}", *times] for name, times in published.EMP_BATCHES]


def counts(run, name):
    """{what: {label: count}}, what as a number."""
    found = {}
    for row in run.rows(name):
        found.setdefault(int(row["what"]), {})[row["label"]] = int(row["count"])
    return found


def promises(run, page):
    copied = counts(run, "mx-copies")
    columns = {"frames of large messages": ("x data frames received", "pull replies received"),
               "of them into their place by the kernel": ("pull replies placed by the kernel",),
               "of them moved afterwards": ("pull replies moved",),
               "fragments of copied messages": ("x medium fragments received", "medium fragments received"),
               "repeated": ("messages repeated", "pull requests repeated")}
    page.add("Copies at a receiver that has posted its receives, by the counters of its board, for messages below and above "
             "the eager limit (32 KiB): a fragment of a copied message, and a frame that is moved, are copied once more than "
             "others. The engine has no pages of the program to send from; the module counts those in its file `memory` in "
             "debugfs (ethermx(4)).")
    page.table("copies", ["length"] + list(columns),
               [[size(length)] + [str(sum(found.get(label, 0) for label in labels)) for labels in columns.values()]
                for length, found in copied.items()])
    acks = counts(run, "mx-acknowledgements")
    page.add("Acknowledgements of a stream of messages of 1 KiB, by the number after which the receiver sends one at the latest "
             "(OMX_NOTACKED_MAX, 4 unless set; EMP as measured: 3).")
    labels = ("x medium fragments received", "medium fragments received"), ("explicit acks sent", "x reports sent")
    rows = []
    for unit, found in acks.items():
        messages, sent = (sum(found.get(label, 0) for label in group) for group in labels)
        rows.append([str(unit), str(messages), str(sent), number(messages / sent if sent else None)])
    page.table("acknowledgements", ["number", "messages", "acknowledgements", "messages for each"], rows)


def section(run, page):
    delays = run.curve("mx-trials-9000", "mean_us")
    found = {name: rows for name, source in SOURCES.items() if (rows := loops(run, source))}
    page.add("## EMP: batches of messages, and the processor's share",
             f"Five messages of 10,000 bytes each way at a time, both hosts alike: receives and sends are posted, the "
             f"program works, then waits for all ten. Medians of {next(iter(found.values()))[0]['count']:.0f} loops."
             if found else "")
    page.add("Time of the program in each call, us, with work so long (20 times a batch's own time) that the messages are "
             "there when it ends. The paper does not say whether its numbers are of a batch or of a message.")
    page.table("batches", ["", "post sends", "post receives", "wait", "sum"], batch_rows(found))
    page.add(f"Published: {published.EMP}; latency " +
             ", ".join(f"{us} us at {n} bytes" for n, us in published.EMP_LATENCY.items()) +
             f". Here: {number(delays.get(min(delays)) if delays else None)} us at {size(min(delays)) if delays else '-'}.")
    rows = [[name, number(row["work_us"]), number(row["loop_us"]), number(100 * row["work_us"] / row["loop_us"]),
             number(2 * MESSAGES * row["bytes"] / row["loop_us"])] for name, measured in found.items() for row in measured]
    page.add("Throughput against the share of the processor that the program's own work gets. The paper's curve (EMP flat at "
             "first, GM and TCP falling at once, all ending at 0) has no table.")
    page.table("processor", ["", "work us", "loop us", "share for the work, %", "MB/s, both ways"], rows)
    promises(run, page)
    overlap = {100 * float(row["cpu_share"]): float(row["MB_s"]) for row in run.rows("mx-overlap")}
    if pictures.draw(f"{page.folder}/processor.svg", "Throughput against the processor's share for the program",
                     "batches of five messages of 10,000 bytes each way; one message at a time as omx_perf -O has it",
                     ("share of the processor for the program's work, %", "Batches, both ways", "MB/s",
                      [(name, curve(measured)) for name, measured in found.items()]),
                     ("share of the processor for the program's work, %", "One message at a time", "MB/s",
                      [("MX", {share or 0.01: rate for share, rate in overlap.items()})])):
        page.picture("Throughput over the processor's share", "processor")
