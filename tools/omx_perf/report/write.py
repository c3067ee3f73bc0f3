# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes FOLDER/report.md with its pictures and tables, from the measurements of tools/omx_perf/report/run.

usage: write.py FOLDER
"""
import os
import sys

import emp
import sections
from measured import Run
from page import Page

PARTS = (
    (sections.fast_messages, ("mx-stretch-9000",)),
    (sections.layers, ("mx-stretch-9000",)),
    (sections.gamma, ("mx-trials-run1",)),
    (emp.section, ("mx-batches",)),
    (sections.open_mx, ("mpi-collectives-mx", "mpi-collectives-tcp")),
    (sections.frames, ("mx-trials-9000", "mx-trials-1500", "mx-trials-256")),
    (sections.elsewhere, ()),
)


def head(run, page):
    page.add("# EtherMX: figures of merit of its ancestors",
             "Measured in one run on one machine, between two hosts made of network namespaces and a veth pair: no wire and "
             "no network card are in these figures, and all hosts share the machine's processors. Beside them stand the "
             "published ones with year and hardware; they are of other decades and other machines, so what compares is the "
             "shape of curves, and the rows of one table that were measured here.")
    if run.quick:
        page.add("**A quick look**: so few messages that the figures only show that all works.")
    page.add("\n".join(f"- {fact}" for fact in run.facts if not fact.startswith("left out: ")))


def write(folder):
    run, page = Run(folder), Page(folder)
    head(run, page)
    lacking = [f"- {what}" for what in run.left_out()]
    for part, needed in PARTS:
        missing = [name for name in needed if not run.rows(name)]
        if missing:
            lacking.append(f"- the section on {part.__name__.replace('_', ' ')}: " + ", ".join(missing) + " not measured")
        else:
            part(run, page)
    page.add("## Left out", "\n".join(lacking) if lacking else "Nothing.")
    page.add(f"What the programs printed is in `{os.path.basename(run.raw)}`; each table is a CSV file beside this page.")
    page.save()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1])


if __name__ == "__main__":
    main()
