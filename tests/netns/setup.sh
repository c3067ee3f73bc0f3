#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The configuration of a host, without the module: omx_init understands what is right, names line and remedy
# of what is wrong, and starts the agent; omxd takes the same file. What the system reads (udev rule, unit, modprobe) is well-formed.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/setup.sh" "$@"
. tests/support/traffic.sh
init=$plain/tools/setup/omx_init conf=$NETLAB_TMP/ethermx.conf

# checks NAME STATUS PATTERN COMMAND...: on host 1
checks() {
    local name=$1 status=$2 pattern=$3
    shift 3
    check "$name" ends "$status" "$pattern" netlab_in 1 timeout $hung "$@"
}

# wrong LINES PATTERN: with these lines (\n between them) check fails so; the file's path begins the message.
wrong() {
    printf '%b' "$1" >"$conf"
    checks "$1" 255 "^omx_init: $conf$2" "$init" -c "$conf" check
}

# right LINES PATTERN
right() {
    printf '%b' "$1" >"$conf"
    checks "$1" 0 "$2" "$init" -c "$conf" check
}

wrong_lines() {
    wrong 'board = eth0\n' ', line 1: "board = eth0" is not understood; write boards = INTERFACE'
    wrong '# a comment\n\nboards eth0\n' ', line 3: "boards eth0" is not understood'
    wrong 'boards = eth0:X\n' ', line 1: board "eth0:X": the dialect is W, N, or N=SIZE'
    wrong '\nboards = eth0:N=12\n' ', line 2: board "eth0:N=12": .* frame size of 256 to 65535'
    wrong 'boards = eth0,eth0\n' ', line 1: board eth0 is named twice'
    wrong 'boards = a-name-of-20-letters\n' ', line 1: .*not an interface name; write INTERFACE'
    wrong 'boards = eth0:N=1500\nboards = eth1\n' ', line 2: boards was given in line 1 already: put all into one line, separated by commas'
    wrong 'boards = eth0:N=1500\nendpoints = many\n' ', line 2: endpoints = many: give a number from 1 to 256'
    wrong 'endpoints = 257\n' ', line 1: endpoints = 257: give a number from 1 to 256'
    wrong 'endpoints = 0\n' ', line 1: endpoints = 0: give a number'
    wrong 'endpoints =\n' ', line 1: endpoints = : give a number'
    wrong 'peers = peers\n' ', line 1: "peers": give the path of the peers file from the root'
    wrong 'boards = eth0:N\nuser = zebra\n' ', line 2: user = zebra: no such user in /etc/passwd: name another one, or give a number'
    wrong 'group = users\n' ': no interface is named; add a line such as boards = eth1:N=1500'
    wrong 'boards =\n' ', line 1: no interface is named'
    wrong '' ': no interface is named'
    wrong 'boards = eth0:N=1500,eth7\n' ', line 1: eth7: no such interface here \(ip link lists them\): correct the name'
    wrong 'boards = lo:N\n' ', line 1: lo: not an Ethernet interface: choose another one'
    wrong 'boards = eth0:W\n' ', line 1: interface eth0 has MTU 1500, but dialect W needs 4130: configure dialect N'
    wrong 'boards = eth0:N=9000\n' ', line 1: interface eth0 has MTU 1500, too small for dialect N=9000: configure eth0:N=1500'
    checks "no file" 255 "omx_init: /no/conf: No such file or directory: make it from the example ethermx.conf" "$init" -c /no/conf check
    checks "a folder" 255 "omx_init: $NETLAB_TMP: Is a directory" "$init" -c "$NETLAB_TMP" check
}

wrong_peers() {
    local peers=$NETLAB_TMP/peers line
    printf '02:00:00:00:00:01 node1:0\nzebra\n' >"$peers"
    printf 'boards = eth0:N\npeers = %s\n' "$peers" >"$conf"
    checks "peers, line 2" 255 "peers file $peers, line 2: write a line as MAC NAME" "$init" -c "$conf" check
    for line in '01:00:00:00:00:01 group:0' '02:00:00:00:00:01' '02:00:00:00:00:01 a b' '02:00:00:00:00 a'; do
        echo "$line" >"$peers"
        checks "peers: $line" 255 "line 1: write a line as MAC NAME" "$init" -c "$conf" check
    done
    rm "$peers"
    checks "no peers file" 255 "peers file $peers: No such file" "$init" -c "$conf" check
    checks "no peers file, omxd" 1 "peers file $peers: No such file" "$EMX_OMXD" -f -c "$conf"
}

right_lines() {
    local peers=$NETLAB_TMP/peers
    right 'boards = eth0:N=1500\n' '^board eth0:N=1500$'
    right '  boards=eth0:N # dialect of the others\n' '^board eth0:N=1514$|^board eth0:N=1500$'
    right 'endpoints = 256\r\nboards = eth0:N=1400\r\n' '^256 endpoints per board$'
    right 'boards = eth0:N=1500\nuser = root\nrun-as = daemon\n' '^board eth0:N=1500$'
    right 'boards = eth0:N\n' 'no list of peers: boards that make contact are added|peers? in /etc/'
    printf '# all\n02:00:00:00:00:01 node1:0\n02:00:00:00:00:02 node2:0 # the other\n' >"$peers"
    right "boards = eth0:N=1500\npeers = $peers\n" "^2 peers in $peers; others are refused$"
    sed 's/^#boards = .*/boards = eth0:N=1500/' tools/setup/ethermx.conf >"$conf"
    checks "the shipped example" 0 '^board eth0:N=1500$' "$init" -c "$conf" check
}

# Interfaces may come later than the service.
late_interface() {
    printf 'boards = late0:N=1500\n' >"$conf"
    netlab_bg 1 "$NETLAB_TMP/late" "$init" -c "$conf" -w $hung check
    local waiting=$NETLAB_PID
    ip -n "${NETLAB_NS[1]}" link add late0 mtu 1000 type veth peer name late1
    ip -n "${NETLAB_NS[1]}" link set late0 mtu 1500
    check "omx_init waits for an interface and its MTU" tells "$NETLAB_TMP/late" '^board late0:N=1500$' "$waiting"
    check "omx_init ends well when the interface has come" wait "$waiting"
    printf 'boards = late7:N=1500\n' >"$conf"
    checks "omx_init does not wait for ever" 255 'line 1: late7: no such interface here' "$init" -c "$conf" -w 1 check
}

system_files() {
    local unit file start
    for unit in ethermx omxd; do
        start="omx_init --wait 30 start" file=$NETLAB_TMP/$unit.service
        [ $unit = ethermx ] || start="omxd --foreground"
        sed "s|=.*/omx_init |=$init |; s|=.*/omxd |=$EMX_OMXD |" "$plain/tools/setup/$unit.service" >"$file"
        if command -v systemd-analyze >/dev/null; then
            checks "unit $unit" 0 "^ExecStart=.*$start" sh -c "grep ExecStart '$file' && systemd-analyze verify --man=no '$file'"
            checks "unit $unit has few rights" 0 'Overall exposure level .*: [0-3]\.' systemd-analyze security --offline=true --threshold=30 "$file"
        else
            skip "no systemd-analyze: apt-get install systemd" 2
        fi
    done
    checks "the rule for udev" 0 '^SUBSYSTEM=="misc", KERNEL=="ethermx", MODE="0666"$' cat tools/setup/60-ethermx.rules
    checks "the rule for sysusers" 0 '^u ethermx - "EtherMX board agent"$' cat tools/setup/ethermx-sysusers.conf
    checks "packages have the version and the files of the tree" 0 '^packages agree with the tree$' python3 tests/packaging/packages.py "$plain"
    # A line for modprobe is a command with words, as "options".
    checks "the file for modprobe" 0 '^options ethermx endpoints=32 peers=1024$' sed 's/^#\(options\)/\1/' tools/setup/ethermx-modprobe.conf
}

commands() {
    checks "--zebra" 255 "unrecognized option '--zebra'" "$init" --zebra
    checks "-h" 255 '^usage: omx_init ' "$init" -h
    checks "no command" 255 'give one of start, stop, restart, status, check' "$init"
    checks "two commands" 255 'give one of start, stop' "$init" start stop
    checks "another command" 255 '"go": give start, stop, restart, status or check' "$init" go
    checks "-w" 255 '"soon" is not a number from 0 to 3600' "$init" -w soon check
    if [ -e /sys/module/ethermx ]; then
        skip "the module is loaded here" 14
        return
    fi
    checks "status without the module" 3 '^not running: the kernel module is not loaded, and no board agent serves$' "$init" status
    checks "stop without the module" 0 '^not running: the kernel module is not loaded, and no board agent serves$' "$init" stop
    instead_of_module
}

# Where there is no module the agent serves, and each command says so.
instead_of_module() {
    local start=("$init" -c "$conf") serves='the board agent omxd serves' agent=0
    printf 'boards = eth0:N=1500\n' >"$conf" && chmod 755 "$NETLAB_TMP"
    ! setpriv --reuid 12345 true 2>/dev/null || checks "start without root" 255 '^omx_init: only root can start the agent' \
        setpriv --reuid 12345 --clear-groups "${start[@]}" start
    checks "start without module and agent" 255 'neither the kernel module nor the board agent omxd .EMX_OMXD names /no/omxd.: install one of them; dkms install ethermx/' \
        env EMX_OMXD=/no/omxd "${start[@]}" start
    checks "start takes the agent" 0 "^no kernel module .dkms install ethermx/.* builds the module for this kernel, $(uname -r).\$
^$serves\$
^eth0:N=1500 is board #0\$" "${start[@]}" start
    checks "start once more keeps the agent" 0 "^$serves already\$
^eth0:N=1500 is board #0 already\$" "${start[@]}" start
    checks "status names the agent" 0 '^board agent: process [0-9]+, 1 board in this network namespace$
^board #0: eth0:N=1500, address .*, link Up, 0 of 32 endpoints open, .*, others are added$' "${start[@]}" status
    printf 'boards = eth0:N=1400\n' >"$conf"
    checks "start with another dialect" 255 "^omx_init: $conf, line 1: the board agent serves other boards: omx_init restart\$" "${start[@]}" start
    checks "status with another dialect" 3 "line 1: eth0 is a board with another dialect: omx_init restart\$" "${start[@]}" status
    agent=$(agent_process)
    checks "restart takes the configuration" 0 "^the board agent omxd has ended\$
^eth0:N=1400 is board #0\$" "${start[@]}" restart
    check "restart ends the agent before" [ "$agent" != "$(agent_process)" ]
    server 1
    checks "stop while an endpoint is open" 255 "eth0: endpoint [0-9]+ is open by process $SERVER .omx_perf.: end it first" "${start[@]}" stop
    netlab_stop "$SERVER"
    checks "stop ends the agent" 0 '^the board agent omxd has ended$' "${start[@]}" stop
    check "stop leaves no agent" no_agent
    printf 'boards = eth0:N=1500\n' >"$conf"
    check "an agent tells a manager of services that it serves" tells_manager
    stop_agents 1
}
agent_process() { ip netns pids "${NETLAB_NS[1]}" | xargs -r ps -o pid=,comm= -p | sed -n 's/ *\([0-9]*\) omxd$/\1/p'; }

# As the unit starts it: systemd goes on once it has heard so.
tells_manager() {
    says '^READY=1$' netlab_in 1 timeout $hung python3 -c '
import os, socket, subprocess, sys
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
agent = subprocess.Popen(sys.argv[2:], env={**os.environ, "NOTIFY_SOCKET": sys.argv[1]}, stderr=subprocess.DEVNULL)
print(heard.recv(100).decode())
agent.terminate()
sys.exit(agent.wait())' "$NETLAB_TMP/notify" "$EMX_OMXD" --foreground --config "$conf"
}

# omxd as a daemon returns once programs can use its boards, or says why it does not, and then leaves nothing behind.
daemon() {
    local omxd=("$EMX_OMXD" --config /nonexistent --boards)
    checks "a daemon without its interface" 1 '^omxd: interface zebra0 does not exist here' "${omxd[@]}" zebra0:N=1500
    check "a daemon without its interface leaves no process" no_agent
    checks "a daemon with its interface" 0 '' "${omxd[@]}" eth0:N=1500
    check "a daemon with its interface prints nothing" [ ! -s "$said" ]
    checks "a daemon serves when its starter has ended" 0 'board #0 name eth0' env EMX_OMXD=/nonexistent "$tools/omx_info"
    checks "a second daemon is refused" 1 '^omxd: another omxd serves this network namespace$' "${omxd[@]}" eth0:N=1500
    stop_agents 1
}
no_agent() { ! ip netns pids "${NETLAB_NS[1]}" | xargs -r ps -o comm= -p | grep -x omxd; }

# The user YOU gets a board, as in step 2 of docs/open-mpi.md: its lines in an /etc of their own; systemctl starts what the
# unit of the build says, as a daemon, and tells nothing but that it serves.
documented() {
    local user=$NETLAB_TMP/user
    chmod 711 "$NETLAB_TMP" && mkdir -p "$user/etc" && install -m 755 "$tools/omx_info" "$user" || return
    cp /etc/passwd /etc/group /etc/login.defs "$user/etc" && echo "YOU:x:12345:12345::/:/bin/sh" >>"$user/etc/passwd" &&
        echo "YOU:x:12345:" >>"$user/etc/group" || return
    cat >"$user/steps" <<-END
	systemctl() {
	    [ "\$1 \$2" = "enable --now" ] || return
	    eval "\$(sed -n 's|^ExecStart=.*/omxd --foreground|$EMX_OMXD|p' "$plain/tools/setup/\$3.service")"
	}
	omx_info() { setpriv --reuid YOU --regid YOU --init-groups env -u EMX_OMXD "$user/omx_info"; }
	set -e
	mount --bind "$user/etc" /etc
	$(sed -n '/^2\. /,/^3\. /s/^       //p' docs/open-mpi.md | sed 's/eth1/eth0/')
	END
    says 'board #0 name eth0
dialect N=1500' netlab_in 1 timeout $hung unshare -m sh "$user/steps"
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2"
netlab_make 2 1500 || exit 1
commands
wrong_lines
wrong_peers
right_lines
late_interface
system_files
daemon
if setpriv --reuid 12345 true 2>/dev/null; then
    check "a member of the group has the board, as docs/open-mpi.md tells" documented
    stop_agents 1
else
    skip "needs users: run as root"
fi
finish
