#!/bin/bash
# Runs four unequal ranks that share a fast node, in a guest: all to the end, and with one that is killed.
#
#   node_memory_guest.sh PROGRAM TERRACE BUDGET ITERATIONS
set -u
program=$1 terrace=$2 budget=$3 iterations=$4
out=/tmp/out
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
ip link set lo up
job() {
  local name=$1 options=$2
  shift 2
  # shellcheck disable=SC2086
  PAGE_NODES=$out/$name taskset -c 0-3 "$terrace" run $options --fast "$budget" -o "$out/$name.terrace" -- \
    mpirun.openmpi --enable-recovery --oversubscribe -n 4 "$program" "$@" >"$out/$name.txt" 2>&1 </dev/null
  echo $? >"$out/$name.status"
}
cd /tmp || exit
job whole "" 8 "$iterations"
# The plans stay, whatever the emulator's noise says: a rank without memory would have none to return.
job killed --keep-plan 8 $((2 * iterations)) 3
