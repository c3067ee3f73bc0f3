# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Source it. debian_source PACKAGE TARBALL SHA256 DIR: the upstream tarball of a source package of the distribution,
# kept as $DEBIAN_SOURCES/TARBALL (${EMX_CACHE:-~/.cache/ethermx}) and fetched if it is not there. DIR takes the lists
# of the archive for that long: the host's own sources of packages stay as they are, and apt checks the signatures.

DEBIAN_SOURCES=${EMX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ethermx}

debian_source() {
    debian_source_kept "$2" "$3" || debian_source_fetch "$1" "$4/apt"
    debian_source_kept "$2" "$3" && return
    echo "no $DEBIAN_SOURCES/$2; put it there by hand where this host has no archive"
    return 1
}

debian_source_kept() { # TARBALL SHA256
    echo "$2  $DEBIAN_SOURCES/$1" | sha256sum --check --status 2>/dev/null
}

# The system's own package sources, with "deb" turned into "deb-src".
debian_source_fetch() { # PACKAGE DIR
    local package=$1 apt=$2
    mkdir -p "$DEBIAN_SOURCES" "$apt/sources" "$apt/lists/partial" "$apt/archives/partial" || return
    find /etc/apt/sources.list.d -name '*.sources' -exec cp {} "$apt/sources/" \;
    sed -i 's/^Types:.*/Types: deb-src/' "$apt"/sources/*.sources 2>/dev/null
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -n 's/^deb\(-src\)\? /deb-src /p' | sort -u >"$apt/sources/all.list"
    local options=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources"
                   -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update || return
    (cd "$DEBIAN_SOURCES" && apt-get "${options[@]}" source --download-only --tar-only "$package")
}
