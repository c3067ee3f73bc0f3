#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Says after `meson install` how Open MPI finds the component.
#   installed.sh FOLDER
[ -z "$DESTDIR" ] || exit 0
[ -z "$MESON_INSTALL_QUIET" ] || exit 0
folder=$1
if [ "$(ompi_info --path pkglibdir --parsable 2>/dev/null)" = "path:pkglibdir:$folder" ]; then
    echo "Open MPI finds its MX component by itself: mpirun --mca pml cm --mca mtl mx"
else
    echo "For Open MPI to find its MX component, set on every host:"
    echo "export OMPI_MCA_mca_base_component_path=$folder:SYSTEM_DEFAULT"
fi
