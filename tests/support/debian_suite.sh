# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Source it. Packages of other suites of Debian than the host's, from where the host has its own; nothing is installed,
# and the host's sources of packages stay as they are.
#
#   suite_mirror                    prints the archive that the host's own packages come from
#   suite_lists DIR SUITE...        fetches the lists of these suites of "main" into DIR
#   suite_apt PROGRAM ARGUMENT...   apt-get or apt-cache with these lists
#   suite_depends PACKAGE           names of packages that it depends on
#   suite_unpack DIR PACKAGE...     fetches the packages and unpacks them into DIR

suite_mirror() {
    local release
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Codename: $release" | head -n 1
}

suite_lists() {
    local mirror suite
    SUITE_APT=$1
    shift
    mirror=$(suite_mirror)
    [ -n "$mirror" ] || { echo "no sources of Debian packages on this machine"; return 1; }
    mkdir -p "$SUITE_APT"/{lists,cache,none} || return
    for suite in "$@"; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    done >"$SUITE_APT/sources.list"
    : >"$SUITE_APT/status" # what the host has installed is of no account
    suite_apt apt-get -q update >"$SUITE_APT/log" 2>&1 && ! grep '^[WE]:' "$SUITE_APT/log" ||
        { echo "Debian's $* cannot be reached: $SUITE_APT/log"; return 1; }
}

suite_apt() {
    local program=$1
    shift
    "$program" -o Dir::Etc::SourceList="$SUITE_APT/sources.list" -o Dir::Etc::SourceParts="$SUITE_APT/none" \
        -o Dir::State::Lists="$SUITE_APT/lists" -o Dir::Cache="$SUITE_APT/cache" -o Dir::State::status="$SUITE_APT/status" \
        -o APT::Sandbox::User=root "$@"
}

suite_depends() { suite_apt apt-cache depends "$1" | sed -n 's/^ *|*Depends: *//p'; }

suite_unpack() {
    local into=$1 file
    shift
    rm -rf "$into/.packages"
    mkdir -p "$into/.packages" && (cd "$into/.packages" && suite_apt apt-get -q download "$@") >>"$SUITE_APT/log" 2>&1 ||
        { echo "$* cannot be fetched: $SUITE_APT/log"; return 1; }
    for file in "$into"/.packages/*.deb; do
        dpkg-deb -x "$file" "$into" || return
    done
    rm -rf "$into/.packages"
}
