# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# For tests of pages of docs/, sourced behind netlab_begin in the top folder: hosts that have file systems of their own, in
# which EtherMX is installed, and a page's commands run there (steps.py). For root alone.
#
#   hosts_root                      or ends the script: it is skipped for want of root
#   pages_packages TEST             installs what packages.txt lists for it
#   hosts_make N MTU                node1 to nodeN of netlab, each with this machine's files below its own (overlayfs), an
#                                   own /tmp and /run, and an own systemctl, which only starts what a unit says; they
#                                   share /home, $NETLAB_TMP/home
#   hosts_install                   there, what the build has, as meson install does; the component of Open MPI is found
#   hosts_board I BOARDS            the board, as docs/open-mpi.md has it, for the user alice
#   in_host I COMMAND...            as root there; in the network namespace HOSTS_NET, if that is set
#   user_in_host I USER COMMAND...  as that user, with its groups, in its home
#   page_steps PAGE RUNNER          each command of the page is a test: "RUNNER HOST $|#" runs its input, and prints what
#                                   the page says
#   on_hosts HOST SIGN              such a RUNNER: HOST is a name, the user is alice
hosts_build=${EMX_BUILD:-$PWD/build}/plain
HOSTS_PID=() hosts_hung=200

hosts_root() {
    [ "$(id -u)" = 0 ] && [ -z "${NETLAB_USERNS:-}" ] && return
    skip "hosts with files of their own: run as root"
    finish
}

pages_packages() {
    local package tests wanted=()
    while read -r package tests; do
        [[ $package == '#' || " $tests " != *" $1 "* ]] || wanted+=("$package")
    done <tests/run-pages/packages.txt
    need_packages tests/run-pages/packages.txt "${wanted[@]}"
}

# A host lives as long as this process of it.
hosts_make() {
    local i root
    for ((i = 1; i <= $1; i++)); do
        NETLAB_NAMES="${NETLAB_NAMES:-}${NETLAB_NAMES:+ }node$i"
    done
    netlab_make "$1" "$2" && netlab_names && mkdir "$NETLAB_TMP/home" || return
    for ((i = 1; i <= $1; i++)); do
        root=$NETLAB_TMP/node$i
        mkdir "$root"
        # shellcheck disable=SC2016 # of the shell inside
        netlab_bg "$i" "$NETLAB_TMP/host$i" unshare --mount --propagation private bash -c '
            . "$0"; hosts_files "$1" && echo ready && exec sleep infinity' "$PWD/tests/run-pages/hosts.sh" "$root"
        HOSTS_PID[i]=$NETLAB_PID
        until_ok 60 grep -qx ready "$NETLAB_TMP/host$i" || { cat "$NETLAB_TMP/host$i"; return 1; }
    done
}

# In a new mount namespace: the machine's root becomes the lower part of another, whose upper one is memory. In
# /sys there are no groups of processes, which are the machine's.
hosts_files() {
    local root=$1/root
    mount -t tmpfs -o mode=755 tmpfs "$1" && mkdir "$1/upper" "$1/work" "$root" || return
    mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$root" || return
    cp /etc/hosts "$root/etc/hosts" # netlab's, which is mounted over the machine's
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" && mount -t tmpfs -o mode=755 tmpfs "$root/run" || return
    mount --rbind /proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t sysfs sysfs "$root/sys" || return
    mount --bind "$(dirname "$1")/home" "$root/home" || return
    cd "$root" && pivot_root . mnt && umount -l /mnt || return
    hosts_systemctl >/usr/local/sbin/systemctl && chmod 755 /usr/local/sbin/systemctl
}

# enable --now UNIT... of a host without systemd: the user, the runtime folder and the command of each unit.
hosts_systemctl() {
    cat <<'END'
#!/bin/bash
[ "$1 $2" = "enable --now" ] || { echo "systemctl: this stand-in knows enable --now" >&2; exit 1; }
shift 2
for unit; do
    file=$(find /etc/systemd/system /usr/local/lib/systemd/system /lib/systemd/system -name "$unit.service" -type f | head -n 1)
    value() { sed -n "s/^$1=//p" "$file" | head -n 1; }
    [ -n "$file" ] || { echo "systemctl: no unit $unit" >&2; exit 1; }
    user=$(value User) folder=$(value RuntimeDirectory) mode=$(value RuntimeDirectoryMode)
    [ -z "$folder" ] || install -d -m "${mode:-755}" -o "${user:-root}" "/run/$folder"
    read -r -a command <<<"$(value ExecStart | sed 's/\$[A-Z_]*//g')"
    setsid setpriv ${user:+--reuid "$user" --regid "$user" --init-groups} "${command[@]}" >"/run/$unit.log" 2>&1 </dev/null &
done
END
}

hosts_install() {
    local stage=$NETLAB_TMP/stage i
    mkdir "$stage" && DESTDIR=$stage meson install -C "$hosts_build" --no-rebuild --quiet || return
    for i in "${!HOSTS_PID[@]}"; do
        tar -C "$stage" -c . | in_host "$i" tar -C / -x --no-same-owner --keep-directory-symlink && in_host "$i" ldconfig || return
        # As installed.sh says for a prefix other than /usr. Debian's file ends without an end of line.
        in_host "$i" sh -c 'printf "\nmca_base_component_path = %s:SYSTEM_DEFAULT\n" \
            "$(dirname "$(find /usr/local -name mca_mtl_mx.so)")" >>/etc/openmpi/openmpi-mca-params.conf' || return
    done
}

hosts_board() {
    in_host "$1" bash -e <<-END
	useradd -M -u 12345 -s /bin/bash alice
	mkdir -p /etc/ethermx
	echo 'boards = $2' > /etc/ethermx/ethermx.conf
	useradd --system --user-group ethermx
	usermod -aG ethermx alice
	systemctl enable --now omxd
	END
}

in_host() {
    local pid=${HOSTS_PID[$1]}
    shift
    nsenter -t "$pid" --mount --uts "--net${HOSTS_NET:+=/run/netns/$HOSTS_NET}" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LANG=C.UTF-8 "$@"
}

user_in_host() {
    local host=$1 user=$2
    shift 2
    in_host "$host" setpriv --reuid "$user" --regid "$user" --init-groups env -C "/home/$user" HOME="/home/$user" USER="$user" "$@"
}

on_hosts() {
    local host=${1#node}
    if [ "$2" = '#' ]; then in_host "$host" timeout $hosts_hung bash -e /dev/stdin; else user_in_host "$host" alice timeout $hosts_hung bash -e /dev/stdin; fi
}

page_step() {
    local folder=$1 number=$2 runner=$3 status=0
    "$runner" "$(cat "$folder/$number.host")" "$(cat "$folder/$number.sign")" <"$folder/$number.command" \
        >"$folder/$number.out" 2>&1 || status=$?
    cat "$folder/$number.out"
    [ $status = 0 ] || { echo "status $status"; return 1; }
    python3 tests/run-pages/steps.py compare "$folder/$number.printed" "$folder/$number.out"
}

page_steps() {
    local folder numbers number
    folder=$(mktemp -d "$NETLAB_TMP/steps.XXXXXX")
    if ! numbers=$(python3 tests/run-pages/steps.py split "$1" "$folder"); then
        check "$1 has steps" false
        return
    fi
    for number in $numbers; do
        check "$1: $(cat "$folder/$number.host")$(cat "$folder/$number.sign") $(cat "$folder/$number.title")" \
            page_step "$folder" "$number" "$2"
    done
}
