#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Makes the web form of the documents and looks at all its links. Skips where the programs for it are missing.
set -u
site=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs/site" && pwd)
if ! command -v mandoc >/dev/null || ! /usr/bin/python3 -c 'import markdown' 2>/dev/null; then
    echo "needs mandoc and python3-markdown: apt-get install mandoc python3-markdown"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if ! "$site/build" "$work/site"; then
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
"$site/check" "$work/site"
