# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Durations, told and never judged.

# Hundredths of a second since the boot. The shell itself reads it: nothing is started.
hundredths() {
	read -r up _ </proc/uptime
	echo "${up%.*}${up#*.}"
}

seconds_since() { # HUNDREDTHS
	took=$(($(hundredths) - $1))
	echo "$((took / 100)).$((took % 100 / 10))"
}
