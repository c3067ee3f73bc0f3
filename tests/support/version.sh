# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Source it in a script that runs from the tree; here is the tree's top folder.
#
#   tree_version NAME    prints the version as the tools do
# shellcheck disable=SC2154 # here

tree_version() { echo "$1 (EtherMX) $(sed -n "s/^  version: '\(.*\)',$/\1/p" "$here/meson.build")"; }
