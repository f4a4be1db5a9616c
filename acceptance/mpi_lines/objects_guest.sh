#!/bin/bash
# Runs in the guest: programs of tests/support/mpi_places.c under `terrace run --mpi-objects`, for each build and
# number of ranks. Each job leaves /tmp/out/NAME with a report of each rank, NAME.txt (the output), NAME.status,
# NAME.terrace (the profile) and NAME.left (what is left in shared memory).
#
#   objects_guest.sh TERRACE KINDS=PLACE,... PLACE RANKS,RANKS BUILD LAUNCHER PROGRAM [BUILD LAUNCHER PROGRAM...]
set -u
terrace=$1 objects=$2 place=$3
IFS=, read -ra ranks <<<"$4"
shift 4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
out=/tmp/out work=/tmp/work

# Runs a job with its files in the memory of the guest, because waiting ranks keep its processors busy.
job() {
  local name=$1
  shift
  mkdir -p "$work/$name"
  cd "$work" || exit 1
  timeout -k 5 240 "$@" >"$name.txt" 2>&1 </dev/null
  echo $? >"$name.status"
  find /dev/shm -not -type d >"$name.left"
  cat /proc/sysvipc/shm | tail -n +2 >>"$name.left"
  cp -r "$name" "$name".* $out/
}

"$terrace" machine --json >$out/machine.json
plain=("$terrace" run --planner slow-only)
while [ $# -gt 0 ]; do
  build=$1 launcher=$2 program=$3
  shift 3
  for n in "${ranks[@]}"; do
    name=$build.$n.placed
    job "$name" "${plain[@]}" --mpi-objects "$objects" -o "$work/$name.terrace" -- \
      "$launcher" -n "$n" "$program" "$work/$name"
  done
  name=$build.2.plain
  job "$name" "${plain[@]}" -o "$work/$name.terrace" -- "$launcher" -n 2 "$program" "$work/$name"
  # Windows and memory alone, by the program.
  name=$build.2.hinted
  job "$name" "${plain[@]}" -o "$work/$name.terrace" -- "$launcher" -n 2 "$program" "$work/$name" "$place"
  # A launcher of Terrace for each rank, of which the first alone places its objects.
  name=$build.2.first
  job "$name" "$launcher" \
    -n 1 "${plain[@]}" --mpi-objects "$objects" -o "$work/$name.terrace" -- "$program" "$work/$name" : \
    -n 1 "${plain[@]}" -o "$work/$name.terrace" -- "$program" "$work/$name"
done
