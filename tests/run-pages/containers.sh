#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# docs/containers.md followed to the letter: the image is built of this tree, and podman runs it on two hosts.
#
#   tests/run-pages/containers.sh
#
# The network is needed for Debian's packages. EMX_PAGES_IMAGES=FOLDER keeps the image there for the next time.
cd "$(dirname "$0")/../.." || exit 1
export TMPDIR=/var/tmp # each host has a /tmp of its own
. tests/support/netlab.sh
. tests/support/packages.sh
netlab_begin "$PWD/tests/run-pages/containers.sh" "$@"
. tests/run-pages/hosts.sh
NETLAB_WATCH=$hosts_build/tests/watch/wirewatch
page=docs/containers.md
hosts_root
pages_packages containers || exit 1
images=${EMX_PAGES_IMAGES:-$NETLAB_TMP/images}

# No group of processes is made, no limit raised: either may be forbidden where tests run.
engine_settings() {
    cat <<-END
	[containers]
	cgroups = "disabled"
	default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
	[engine]
	cgroup_manager = "cgroupfs"
	events_logger = "file"
	END
}

# The base image is made of Debian's packages, under the name that the Dockerfile has for it: no registry is asked.
image() {
    local podman=(podman --root "$images" --runroot "$NETLAB_TMP/run")
    [ ! -d "$images/overlay-images" ] || return 0
    mkdir -p "$images" "$NETLAB_TMP/clone" &&
        mmdebstrap --variant=minbase bookworm "$NETLAB_TMP/base.tar" &&
        "${podman[@]}" import "$NETLAB_TMP/base.tar" docker.io/library/debian:bookworm || return
    git ls-files -z | tar -c --null -T - | tar -C "$NETLAB_TMP/clone" -x || return
    command=$(python3 tests/run-pages/steps.py block $page 'In a clean clone:')
    (cd "$NETLAB_TMP/clone" && eval "${command/podman build/${podman[*]} build --isolation chroot --network host}")
}

# Podman, whose images are those of the machine, and below /home another overlay can lie.
prepare() {
    in_host "$1" bash -e <<-END
	mount --bind /home /srv
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	mkdir -p /etc/containers "/srv/\$(hostname)"
	printf '[storage]\ndriver = "overlay"\nrunroot = "/run/containers"\ngraphroot = "/srv/%s"\n' "\$(hostname)" > /etc/containers/storage.conf
	printf '[storage.options]\nadditionalimagestores = ["/srv/images"]\n' >> /etc/containers/storage.conf
	END
    engine_settings | in_host "$1" tee /etc/containers/containers.conf
}

CONTAINERS_CONF=$NETLAB_TMP/containers.conf
export CONTAINERS_CONF
engine_settings >"$CONTAINERS_CONF"
check "the image is built of Debian's packages and this tree" image
hosts_make 3 9000 && hosts_install || exit 1
mkdir "$NETLAB_TMP/home/images" && cp -a "$images/." "$NETLAB_TMP/home/images" || exit 1
{ prepare 1 && prepare 2 && prepare 3 && hosts_board 1 eth0:N=9000 && hosts_board 2 eth0:N=9000; } >"$NETLAB_TMP/prepared" 2>&1 || { cat "$NETLAB_TMP/prepared"; exit 1; }
page_steps $page on_hosts
finish
