#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Packages and guides on fresh systems of Debian: packages are built, installed, upgraded, removed and purged; the commands
# of docs/install.md and docs/open-mpi.md are followed to the letter, by packages and from the source, on two hosts that
# are copies of such a system, by a user of the group who exchanges messages and runs MPI.
#
#   check.sh [-k] [12|13]...      releases of Debian (12 13); -k: what was built before is taken
#
# As root, with mmdebstrap and the archive of Debian (EMX_DEBIAN_MIRROR). Systems are kept in build/packaging. In them stand
# in: for systemctl a script that runs the unit's ExecStart, since no systemd runs there; for uname -r the kernel whose
# headers are installed, since the running one is this machine's; for meson setup one that has several files compiled as
# one, which takes a third of the time; a configuration that answers apt's questions by yes; one of the user by which
# Open MPI 5 takes hosts with fewer cores than the guide's ranks.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/check.sh
. tests/packaging/roots.sh
kept=no
[ "${1:-}" != -k ] || { kept=yes && shift; }
[ $# -gt 0 ] || set -- 12 13
missing=''
for program in mmdebstrap ip git xz python3; do
    command -v $program >/dev/null || missing="$missing $program"
done
if [ "$(id -u)" != 0 ] || [ -n "$missing" ]; then
    skip "needs root and${missing:-" nothing else"}: apt-get install mmdebstrap iproute2 git xz-utils python3" $#
    finish
fi
mkdir -p "$roots"
check_dir "$(mktemp -d)"
trap 'hosts_end; rm -rf "$CHECK_DIR"' EXIT
trap 'exit 143' INT TERM HUP
# All that is laid out anew; the systems themselves are kept.
old=0.0.9-1 user=YOU
ours='libmyriexpress0 libmyriexpress-dev ethermx-tools ethermx-report ethermx-dkms openmpi-mtl-mx wireshark-ethermx libfm2 libethermx-fm-dev libgamma1 libgamma-dev'

# ---- Building

# A system that has what is built with, kept as long as that is the same.
builder_of() { # CODENAME
    local key
    key=$(sha256sum tools/packaging/debian/control | cut -c1-12)
    builder=$roots/builder-$1-$key
    [ ! -e "$builder/ready" ] || return 0
    base_of "$1" && unpack "$base" "$builder" && answer_yes "$builder" || return
    rm -rf "${builder:?}/src" && mkdir -p "$builder/src" && cp -a tools/packaging/debian "$builder/src/" || return
    enter "$builder" sh -ec 'apt-get update; apt-get install build-essential ccache lintian; cd /src; apt-get build-dep ./' && touch "$builder/ready"
}

answer_yes() {
    printf '%s\n' 'APT::Get::Assume-Yes "true";' 'APT::Install-Recommends "false";' >"$1/etc/apt/apt.conf.d/00answers"
}

unity() { # ROOT
    printf '%s\n' '#!/bin/sh' 'if [ "$1" = setup ]; then shift && set -- setup -Dunity=on -Dunity_size=10 "$@"; fi' \
        'exec /usr/bin/meson "$@"' >"$1/usr/local/bin/meson" && chmod 755 "$1/usr/local/bin/meson"
}

sources_into() { mkdir -p "$1" && git archive HEAD | tar -x -C "$1"; }

build() {
    [ $kept = no ] || [ ! -e "$packages/built" ] || return 0
    rm -rf "${builder:?}/src" "$builder/packages" && sources_into "$builder/src" || return
    unity "$builder" && enter "$builder" sh -ec 'PATH=/usr/lib/ccache:$PATH; cd /src; tools/packaging/make-deb /packages' || return
    rm -rf "$packages" && cp -a "$builder/packages" "$packages" && older && touch "$packages/built"
}

# The same packages with a lower version, to be upgraded.
older() {
    local package file=$builder/repack
    mkdir -p "$packages/old"
    for package in "$packages"/*.deb; do
        case $package in *-dbgsym_*) continue ;; esac
        rm -rf "$file" && dpkg-deb -R "$package" "$file" &&
            sed -i "s/^Version: .*/Version: $old/; s/(= $version)/(= $old)/g; s/(>= ${version%-*})/(>= 0)/g" "$file/DEBIAN/control" &&
            dpkg-deb -b "$file" "$packages/old" >/dev/null || return
    done
}

all_there() {
    local name
    for name in $ours; do
        ls "$packages/${name}_$version"_*.deb || return
    done
}

# No bug of Debian asks for these packages.
clean_by_lintian() {
    rm -rf "$builder/packages" && cp -a "$packages" "$builder/packages"
    enter "$builder" lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --tag-display-limit 0 "/packages/ethermx_${version}_amd64.changes"
}

# The archive of a release has the files of the source package.
dist_agrees() {
    local folder=$CHECK_DIR/dist
    rm -rf "$folder" && meson setup "$folder" -Dtests=false -Dopenmpi=disabled -Dfm=disabled >/dev/null &&
        meson dist --no-tests --allow-dirty -C "$folder" >/dev/null || return
    diff <(tar -tf "$folder"/meson-dist/ethermx-*.tar.xz | grep -v '/$' | sort) \
        <(tar -tf "$packages"/ethermx_*.orig.tar.xz | grep -v '/$' | sort)
}

# A program that is linked with the -dev package needs the library's.
shlibs() {
    cp "$packages"/*.deb "$builder/packages/" && enter "$builder" bash -ec '
        dpkg -i /packages/{libmyriexpress0,libmyriexpress-dev,libfm2,libethermx-fm-dev,libgamma1,libgamma-dev}_*.deb
        rm -rf /shlibs && mkdir -p /shlibs/debian && cd /shlibs
        printf "Source: program\n\nPackage: program\nArchitecture: any\n" >debian/control
        cc -o mx /src/docs/examples/mx_ring.c $(pkg-config --cflags --libs myriexpress)
        cc -o fm /src/docs/examples/fm_stencil.c $(pkg-config --cflags --libs fm) -lm
        cc -o gamma /src/docs/examples/gamma_broadcast.c $(pkg-config --cflags --libs gamma)
        for program in mx fm gamma; do dpkg-shlibdeps -O $program; done
        dpkg --purge libgamma-dev libethermx-fm-dev libmyriexpress-dev libfm2 libgamma1 libmyriexpress0'
}

# ---- Systems

stand_ins() { # ROOT
    answer_yes "$1"
    cat >"$1/usr/local/bin/systemctl" <<-'END'
	#!/bin/sh
	# Runs what a unit starts or stops, as a daemon where systemd would watch over it.
	now=no verb='' units=''
	for word; do
	    case $word in
	    --now) now=yes ;;
	    -*) ;;
	    *) if [ -z "$verb" ]; then verb=$word; else units="$units ${word%.service}"; fi ;;
	    esac
	done
	case $verb$now in
	startno | restartno | enableyes) line=ExecStart ;;
	stopno | disableyes) line=ExecStop ;;
	*) exit 0 ;;
	esac
	for unit in $units; do
	    file=$(ls /lib/systemd/system/$unit.service /usr/lib/systemd/system/$unit.service 2>/dev/null | head -n 1)
	    needed=$(sed -n 's/^ConditionPathExists=//p' "$file")
	    [ -z "$needed" ] || [ -e "$needed" ] || continue
	    command=$(sed -n "s/^$line=//p" "$file" | sed 's/ --foreground//')
	    ${command:-true} || exit
	done
	END
    cat >"$1/usr/local/bin/uname" <<-'END'
	#!/bin/sh
	# The kernel of this system, not that of the machine it is tried on.
	kernel=$(ls /lib/modules 2>/dev/null | tail -n 1)
	if [ "$*" = -r ] && [ -n "$kernel" ]; then echo "$kernel"; else exec /bin/uname "$@"; fi
	END
    chmod 755 "$1/usr/local/bin/systemctl" "$1/usr/local/bin/uname"
    unity "$1"
}

# A system of a user YOU, with ssh between hosts of it, which is nothing of ours.
system() { # CODENAME ROOT
    base_of "$1" && unpack "$base" "$2" && stand_ins "$2" || return
    echo "$user:x:12345:12345::/srv/$user:/bin/bash" >>"$2/etc/passwd"
    echo "$user:*:20000:0:99999:7:::" >>"$2/etc/shadow"
    echo "$user:x:12345:" >>"$2/etc/group"
    printf '10.78.0.%s node%s\n' 1 1 2 2 >>"$2/etc/hosts"
    enter "$2" bash -ec '
        apt-get update
        apt-get install openssh-server openssh-client procps
        install -d -o 12345 -g 12345 -m 700 /srv/YOU /srv/YOU/.ssh
        cd /srv/YOU/.ssh
        ssh-keygen -q -t ed25519 -N "" -f id_ed25519
        cp id_ed25519.pub authorized_keys
        for host in node1 node2; do echo "$host $(cat /etc/ssh/ssh_host_ed25519_key.pub)"; done >known_hosts
        echo "export PRTE_MCA_hwloc_default_binding_policy=none" >../.profile
        chown 12345:12345 ./* ../.profile'
}

# Packages of others that ours need, so that the system before them is comparable with the one after them.
needs_of_ours() { # ROOT
    enter "$1" bash -ec 'cd /guide
        apt-get install tshark linux-headers-amd64 gcc libc6-dev pkg-config iproute2
        apt-get install -s ./packages/*.deb | sed -n "s/^Inst \([^ ]*\) .*/\1/p" | sort >/needs
        for file in packages/*.deb; do dpkg-deb -f "$file" Package; done | sort >/ours
        comm -23 /needs /ours | xargs -r apt-get install'
}

same_as_before() { # ROOT
    files_of "$1" >"$CHECK_DIR/after" && diff "$CHECK_DIR/before" "$CHECK_DIR/after"
}

installed() { # VERSION ROOT
    says "^$1\$" enter "$2" dpkg-query -W -f '${Version}\n' ethermx-tools libmyriexpress0 ethermx-dkms
}

# ---- Guides

# Runs the marked steps of a page; hosts are made of the system when the first step needs them.
guide() { # FLOW PAGE ROOT
    local flow=$1 page=$2 root=$3 folder=$CHECK_DIR/steps step name
    rm -rf "$folder" && python3 tests/packaging/steps.py "docs/$page.md" "$flow" "$number" "$folder" || { check "$flow, $page: steps" false; return; }
    for step in "$folder"/*; do
        name=${step##*/}
        case $name in *.once.*) ;; *) [ ${#HOSTS[@]} != 0 ] || check "$flow, $page: two hosts" hosts_ready "$root" ;; esac
        check "$flow, $page, step ${name%%.*}: $(head -n 1 "$step" | cut -c1-90)" step "$step" "$root"
    done
    hosts_end
}

step() { # FILE ROOT
    local text where
    text=$(cat "$1")
    echo "$text"
    where=${1##*/}
    case ${where#*.} in
    once.root) enter "$2" bash -ec "PATH=/usr/lib/ccache:\$PATH; cd /guide; $text" ;;
    both.root) on_host 1 bash -ec "$text" && on_host 2 bash -ec "$text" ;;
    both.user) as_user 1 "$text" && as_user 2 "$text" ;;
    node[12].root) on_host "${where//[!12]/}" bash -ec "$text" ;;
    node1.user) as_user 1 "$text" ;;
    node2.user) as_user 2 "$text" ;;
    node2.user.server) serve "$text" ;;
    *) echo "a step of \"${where#*.}\"" && false ;;
    esac
}

serve() {
    as_user 2 "$1" >"$CHECK_DIR/server" 2>&1 &
    until_ok 60 grep -q 'waiting for a client' "$CHECK_DIR/server"
}

hosts_ready() { # ROOT
    hosts_make "$1" && for i in 1 2; do
        on_host $i sh -ec 'mkdir -p /run/sshd; /usr/sbin/sshd' || return
    done
}

ring_into() { # ROOT
    cp tests/packaging/ring.c "$builder/src/" && enter "$builder" sh -ec 'cd /src; mpicc -o /ring ring.c' && install -o 12345 -m 755 "$builder/ring" "$1/srv/$user/program"
}

# ---- One release

by_packages() { # CODENAME
    local root=$roots/packages-$1
    check "a fresh system" system "$1" "$root"
    mkdir -p "$root/guide" && cp -a "$packages" "$root/guide/packages"
    check "packages of others that ours need" needs_of_ours "$root"
    files_of "$root" >"$CHECK_DIR/before"
    check "older packages are installed" enter "$root" sh -ec 'cd /guide; apt-get install ./packages/old/*.deb'
    check "older packages are there" installed $old "$root"
    check "packages are upgraded" enter "$root" sh -ec 'cd /guide; apt-get install ./packages/*.deb'
    check "new packages are there" installed "$version" "$root"
    check "the linker knows the library at once" says 'libmyriexpress.so .*=>' enter "$root" ldconfig -p
    check "the group ethermx is there" says '^ethermx:x:[0-9]+:$' grep ethermx "$root/etc/group"
    check "the user ethermx is there" says '^ethermx:.*nologin$' grep ethermx "$root/etc/passwd"
    check "DKMS has built the module" says '^ethermx/.*: installed$' enter "$root" dkms status
    check "tshark knows the protocol" says '^MXoE|mxoe' enter "$root" tshark -G protocols
    cp tools/packaging/debian/tests/* "$root/guide/"
    check "autopkgtest: ping-pong" says 'latency' enter "$root" /guide/ping-pong
    check "autopkgtest: compile" enter "$root" env AUTOPKGTEST_TMP=/guide /guide/compile
    check "packages are removed" enter "$root" sh -ec "apt-get remove $ours"
    check "packages are purged" enter "$root" sh -ec "dpkg --purge $ours"
    check "nothing is left" same_as_before "$root"
}

by_guides() { # CODENAME
    local root=$roots/guide-$1 flow
    for flow in packages source; do
        check "a fresh system" system "$1" "$root"
        mkdir -p "$root/guide" && sources_into "$root/guide" && cp -a "$packages" "$root/guide/packages"
        [ ! -x "$builder/usr/bin/ccache" ] || [ $flow = packages ] || enter "$root" apt-get install ccache >/dev/null
        guide $flow install "$root"
        check "a program of MPI" ring_into "$root"
        guide $flow open-mpi "$root"
    done
}

release() { # NUMBER CODENAME
    local number=$1 packages=$roots/debian-$1 builder version
    version=$(sed -n '1s/.*(\(.*\)).*/\1/p' tools/packaging/debian/changelog)
    check "Debian $1: a system to build in" builder_of "$2"
    check "Debian $1: packages are built" build
    check "Debian $1: each package is there" all_there
    check "Debian $1: the archive of a release has the same files" dist_agrees
    check "Debian $1: lintian finds nothing" clean_by_lintian
    check "Debian $1: programs depend on the library's package" says '^shlibs:Depends=.*libmyriexpress0 \(>= 0
^shlibs:Depends=.*libfm2 \(>= 0
^shlibs:Depends=.*libgamma1 \(>= 0' shlibs
    by_packages "$2"
    by_guides "$2"
}

for release in "$@"; do
    case $release in
    12) release 12 bookworm ;;
    13) release 13 trixie ;;
    *) check "\"$release\" is no release: 12 or 13" false ;;
    esac
done
finish
