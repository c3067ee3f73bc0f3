# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Measures commands by each way to give them, to an interface that drops what it is to send. The
# argument: rounds (101). It judges no time.
failed=0
. /check.sh

insmod /dummy.ko numdummies=0 &&
	/bin/ip link add eth0 mtu 9000 address 02:00:00:00:00:0a type dummy &&
	/bin/ip link set eth0 up &&
	insmod /ethermx.ko ifnames=eth0 frame_size=9000 || exit 1
check "commands by each way" /command_cost ${1:+"$1"}
check "unload" rmmod ethermx
check "interface goes" /bin/ip link del eth0
exit $failed
