# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Figures that the papers publish, with year and hardware, to stand beside ours."""

FM1 = "FM 1.0, 1995: SPARCstation 20 and 10, Myrinet (LANai 2.3, SBus); 1 MB = 2^20 bytes"
FM2 = "FM 2.x, 1998: 200 MHz Pentium Pro, Myrinet"
GAMMA = "GAMMA, 2009: Intel PRO/1000, MTU 4120, back to back"
EMP = "EMP, 2001: 933 MHz Pentium III, Alteon Tigon2 (1 Gbit/s Ethernet), MTU 1500, back to back"
OPEN_MX = "Open-MX, 2011: 2 x quad-core 2.33 GHz Xeon E5345, Myri-10G as 10 Gbit/s Ethernet, MTU 9000, 16 processes on 2 hosts"

# layers: (t0 us, r_inf MB/s, n_1/2 bytes, l us of 16 bytes, l us of 128 bytes)
FAST_MESSAGES = [
    ("FM 1.0 (1995)", ("4.1", "21.4", "54", "25", "32")),
    ("FM 1.x, later (1998)", ("-", "17.6", "54", "14", "-")),
    ("FM 2.1 (1998)", ("-", "77", "under 256", "11", "-")),
    ("Myricom API 2.0, send_imm (1995)", ("105", "23.9 (the bus's)", "about 4409", "-", "-")),
]
# MPI-FM as % of FM
EFFICIENCY = [
    ("MPI-FM on FM 1.x (1998, Sparc)", "about 20, nowhere over 35"),
    ("MPI-FM on FM 2.x (1998, Pentium Pro)", "over 70 at 16 bytes, rising quickly to 90; peak 70 of 77 MB/s (91)"),
]
# (latency us, B MB/s, H bytes)
GAMMA_ROWS = [
    ("GAMMA (2009), Intel PRO/1000, MTU 4120, back to back", ("6.1", "123.4", "1820")),
    ("the same with a switch", ("10.8", "-", "7600")),
    ("GAMMA (2009), Broadcom NetXtreme, MTU 1500, back to back", ("14.6", "119.4", "3705")),
    ("GAMMA (2000), 100base-T", ("13", "12.2", "200")),
]
# (isend, irecv, waitall, total) us
EMP_BATCHES = [
    ("TCP (2001)", ("137", "4", "126", "266")),
    ("GM (2001)", ("66", "1", "123", "190")),
    ("EMP (2001)", ("53", "9", "3", "65")),
]
EMP_LATENCY = {4: "23", 1500: "36"}
# {operation: {length: per cent of Open-MX over TCP}}
COLLECTIVES = {
    "sendrecv": {16: 107, 4096: 4.66, 65536: 8.88, 4194304: 32.7},
    "exchange": {16: 143, 4096: 8.38, 65536: 24.2, 4194304: 29.0},
    "allreduce": {16: 87.9, 4096: 2.51, 65536: 11.6, 4194304: 4.77},
    "reduce": {16: 64.7, 4096: 23.1, 65536: 26.5, 4194304: -23.6},
    "allgather": {16: 79.2, 4096: -7.1, 65536: 21.5, 4194304: 56.0},
    "gather": {16: 72.5, 4096: 52.6, 65536: 4.57, 4194304: 76.4},
    "scatter": {16: 86.3, 4096: 51.6, 65536: 18.4, 4194304: 80.9},
    "alltoall": {16: 47.0, 4096: 15.2, 65536: 47.2, 4194304: 54.7},
    "bcast": {16: 44.6, 4096: 20.1, 65536: -26.9, 4194304: -39.6},
    "barrier": {0: 73.7},
}
# Open-MX, 2011: latency us
OPEN_MX_LATENCY = [
    ("Open-MX (2011), 1 Gbit/s; tuned", "44.6; 24.9"),
    ("TCP (2011), 1 Gbit/s; tuned", "50.5; 30.8"),
    ("Open-MX (2011), 10 Gbit/s; tuned", "70; 7.3"),
    ("TCP (2011), 10 Gbit/s; tuned", "about 75; 13.2"),
    ("MX (2011), 10 Gbit/s, Myri-10G", "2"),
]
MTU = "1 Gbit/s: 3 % for large messages, 1500 faster at medium; 10 Gbit/s tuned: twice as fast with 9000"
