# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# One function per program of tests/mpi/apps: runs it in the present folder with the present shape ($hosts,
# $each, $ranks) and succeeds if its results are right.

# job SECONDS COMMAND...: an MPI job of all ranks of the shape.
job() {
    local seconds=$1
    shift
    mpilab_run timeout -k 10 "$seconds" mpirun --hostfile "$NETLAB_TMP/shape" -n "$ranks" "$@"
}

# over_tcp COMMAND...: the same by Open MPI's own transport.
over_tcp() {
    OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp "$@"
}

# same WHAT FILE1 FILE2: both have lines, and the same.
same() {
    [ -s "$2" ] && diff "$2" "$3" && echo "$1: $(wc -l <"$2") lines are the same"
}

app_netpipe() {
    local top=${EMX_NETPIPE_TOP:-1048577}
    [ "${EMX_FULL:-0}" != 1 ] || top=${EMX_NETPIPE_TOP:-8388609}
    mpilab_run timeout -k 10 300 mpirun --hostfile "$NETLAB_TMP/shape" -n 2 --map-by node NPopenmpi -i -u $top -o np.out >log 2>&1
    local status=$? good
    cat log
    good=$(grep -c 'Integrity check passed' log)
    [ $status = 0 ] && ! grep -qi 'integrity check failed' log && [ "$good" -ge 25 ] &&
        grep -q " $top bytes .*Integrity check passed" log
}

# The shipped input with a small matrix and a grid of all ranks.
hpcc_input() {
    local p=1
    while [ $((p * p * 4)) -le "$ranks" ]; do
        p=$((p * 2))
    done
    sed -e "s/^1000  *Ns/$1 Ns/" -e "s/^2  *Ps/$p Ps/" -e "s/^2  *Qs/$((ranks / p)) Qs/" /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt &&
        grep -q "^$1 Ns" hpccinf.txt && grep -q "^$p Ps" hpccinf.txt
}

# MPIRandomAccess cuts itself short when it is slow, and counts what it lost by that: with many more ranks than
# processors some errors in most runs, over TCP too. The benchmark itself allows 1 %.
random_access_is_right() {
    if [ "$ranks" -le 4 ]; then
        grep -q '^MPIRandomAccess_Errors=0' hpccoutf.txt && grep -q '^MPIRandomAccess_LCG_Errors=0' hpccoutf.txt
    else
        awk -F= '/^MPIRandomAccess(_LCG)?_ErrorsFraction=/ { n++; bad += $2 > 0.01 } END { exit !(n == 2 && !bad) }' hpccoutf.txt
    fi
}

app_hpcc() {
    hpcc_input 400 && job 600 hpcc || return
    grep -E '^(Success|MPIRandomAccess.*Errors|.*Residual|HPL_Tflops)|residual checks|FAILED' hpccoutf.txt
    grep -q '^Success=1' hpccoutf.txt && random_access_is_right &&
        grep -q '1 tests completed and passed residual checks' hpccoutf.txt && ! grep -q FAILED hpccoutf.txt
}

# One frame of a hundred is lost on its way to hosts 1 and 2.
app_lossy_hpcc() {
    netlab_loss 1 10 && netlab_loss 2 10 && app_hpcc
    local status=$? lost
    lost=$(($(netlab_lost 1) + $(netlab_lost 2)))
    netlab_loss_off 1
    netlab_loss_off 2
    echo "$lost frames were lost"
    return $((status || lost < 100))
}

# lammps_case FOLDER INPUT: thermodynamic output to the printed digit.
lammps_case() {
    cp -r "/usr/share/lammps/examples/$1" . && cd "$1" || return
    job 300 lmp -in "$2" -log none >mx.log && over_tcp job 300 lmp -in "$2" -log none >tcp.log || { tail mx.log; return 1; }
    for transport in mx tcp; do
        # one line a step, or a block headed by the step; the time it took is no result
        sed -n -E '/^(-+)? *Step/,/^Loop/{/^Loop/d;s/CPU =.*//;p}' $transport.log >$transport.thermo
    done
    grep -h '^Loop time' mx.log tcp.log
    [ "$(wc -l <mx.thermo)" -ge 6 ] && same "LAMMPS $1" mx.thermo tcp.thermo && cd ..
}

app_lammps() {
    lammps_case melt in.melt && lammps_case peptide in.peptide
}

# Self-checking; grids of more ranks than there are count as skipped by the program itself.
app_scalapack() {
    local folder=/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests program checks=0 n
    cp "$folder"/*.dat . || return
    # The condition estimator ends its iteration when a last bit says so, which may differ between ranks: over
    # TCP too, xdllt now and then waits for ever in pdlacon.
    sed -i 's/^T\(.*Cond. Est.\)/F\1/' LU.dat LLT.dat && grep -q '^F.*Cond. Est.' LU.dat || return
    for program in xdlu xdllt xdqr xzlu xdls xcinv; do
        job 200 "$folder/$program" >log 2>&1 || { cat log; return 1; }
        n=$(awk '/completed and passed/ { n += $1 } END { print n + 0 }' log)
        echo "$program: $n passed"
        [ "$n" -gt 0 ] && ! grep -E '^ *[1-9][0-9]* tests completed and failed' log || { tail -n 20 log; return 1; }
        checks=$((checks + n))
    done
    [ $checks -ge 100 ]
}

# Solves for 1 to 5, with data on rank 0's input.
app_mumps() {
    local kind program
    for kind in real:ssimpletest real:dsimpletest cmplx:csimpletest cmplx:zsimpletest; do
        program=/usr/lib/mumps/${kind#*:}
        job 100 sh -c "exec $program </usr/lib/mumps/input_simpletest_${kind%:*}" >log 2>&1 &&
            solution_is_right log "${kind%:*}" || { tail -n 20 log; return 1; }
    done
}

# The components 1 2 3 4 5 within 1e-4 after "Solution is".
solution_is_right() {
    python3 - "$1" "$2" <<'END'
import re, sys
text = open(sys.argv[1]).read().split('Solution is')[1]
numbers = [float(n) for n in re.findall(r'[-+]?\d+\.\d+(?:[Ee][-+]?\d+)?', text)]
step = 2 if sys.argv[2] == 'cmplx' else 1 # real and imaginary part
found = numbers[:5 * step]
right = [v for k in range(1, 6) for v in ([k] if step == 1 else [k, 0])]
print('solution', found)
sys.exit(not (len(found) == len(right) and all(abs(a - b) < 1e-4 for a, b in zip(found, right))))
END
}

# Orders and splits a grid of 120 x 120; every vertex must be in the results.
app_ptscotch() {
    gmk_m2 120 120 grid.grf && job 100 dgtst grid.grf && job 100 dgord grid.grf order && job 100 dgpart 4 grid.grf parts || return
    python3 - <<'END'
import collections, sys
order = [line.split() for line in open('order')][1:]
parts = collections.Counter(line.split()[1] for line in list(open('parts'))[1:])
print(len(order), dict(parts))
permutation = sorted(int(v) for _, v in order)
sys.exit(not (permutation == list(range(14400)) and sum(parts.values()) == 14400 and len(parts) == 4
              and max(parts.values()) < 1.1 * 3600))
END
}

app_mpi4py() {
    local bench
    for bench in helloworld ringtest; do
        job 60 /usr/bin/python3 -m mpi4py.bench $bench || return
    done
    job 60 /usr/bin/python3 "$here/tests/mpi/numpy_ring.py"
}

# openfoam_case CELLS STEP: the tutorial on a lid-driven cavity, with so many cells on a side, split for all ranks.
openfoam_case() {
    local case=/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity
    cp -r $case/. . && gunzip -rf . 2>/dev/null
    sed "s/RANKS/$ranks/" "$here/tests/mpi/decomposeParDict" >system/decomposeParDict &&
        sed -i "s/(20 20 1)/($1 $1 1)/" system/blockMeshDict && sed -i "s/^deltaT .*/deltaT $2;/" system/controlDict || return
    export WM_PROJECT_DIR=/usr/share/openfoam # where Debian has the tutorials' defaults
    blockMesh >mesh.log && decomposePar >split.log || { tail mesh.log split.log; return 1; }
}

# The same residuals as over TCP, to the printed digit.
app_openfoam() {
    openfoam_case 20 0.005 || return
    job 300 -x WM_PROJECT_DIR icoFoam -parallel >mx.log && over_tcp job 300 -x WM_PROJECT_DIR icoFoam -parallel >tcp.log ||
        { tail mx.log; return 1; }
    for transport in mx tcp; do
        grep -E 'residual|continuity' $transport.log >$transport.residuals
    done
    grep -h ExecutionTime mx.log tcp.log | tail -n 1
    [ "$(wc -l <mx.residuals)" -ge 100 ] && same OpenFOAM mx.residuals tcp.residuals
}
