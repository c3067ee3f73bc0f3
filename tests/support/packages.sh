# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Source it. need_packages FILE [NAME...]: installs the packages of a list that are missing (only
# the named ones, if any); an ordinary user gets the command to give instead.

need_packages() {
    local file=$1 package wanted missing=()
    shift
    while read -r package _; do
        case $package in '' | '#'*) continue ;; esac
        if [ $# -gt 0 ]; then
            wanted=" $* "
            case $wanted in *" $package "*) ;; *) continue ;; esac
        fi
        [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
    done <"$file"
    [ ${#missing[@]} = 0 ] && return
    if [ "$(id -u)" != 0 ]; then
        echo "These packages are missing; install them with:" >&2
        echo "    sudo apt-get install ${missing[*]}" >&2
        return 1
    fi
    echo "installing ${missing[*]}" >&2
    install_packages "${missing[@]}"
}

# The package lists of a fresh machine are empty or old: try as it is, then update once.
install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends "$@" >&2 ||
        { apt-get -o DPkg::Lock::Timeout=300 update -qq >&2 &&
          apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends "$@" >&2; }
}
