#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Says after `meson install` how Open MPI finds the component.
#   installed.sh FOLDER [PMIX_FOLDER]     PMIX_FOLDER: of PMIx's components, with Open MPI 5
# mpirun of Debian's Open MPI 5 hands ranks PMIX_FOLDER as the place of all components, unless it is given another; and
# gives that to PMIx in turn, unless that has its own.
[ -z "$DESTDIR" ] || exit 0
[ -z "$MESON_INSTALL_QUIET" ] || exit 0
folder=$1 pmix=${2:+ PMIX_MCA_mca_base_component_path=$2}
if [ -z "$pmix" ] && [ "$(ompi_info --path pkglibdir --parsable 2>/dev/null)" = "path:pkglibdir:$folder" ]; then
    echo "Open MPI finds its MX component by itself: mpirun --mca pml cm --mca mtl mx"
else
    echo "For Open MPI to find its MX component, set on every host:"
    echo "export OMPI_MCA_mca_base_component_path=$folder:SYSTEM_DEFAULT$pmix"
fi
