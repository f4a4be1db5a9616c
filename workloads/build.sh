#!/bin/sh
# Builds workloads with any compiler command, as a user's build system would:
#   CXX=terrace-c++ [CXXFLAGS="-O2 -g"] workloads/build.sh OUTDIR [NAME ...]
# NAME is a workload's folder, which has a workload.toml; all for one process when none is given. The programs are
# OUTDIR/NAME. Those for MPI ranks are mpi/NAME, and need MPI's compiler: CXX=mpicxx.
# -fopenmp in CXXFLAGS gives those that know --threads theirs.
set -eu
if [ $# -lt 1 ]; then
  echo "usage: [CXX=COMPILER] [CXXFLAGS=FLAGS] $0 OUTDIR [NAME ...]" >&2
  exit 2
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
out=$1
shift
all=
for manifest in "$here"/*/workload.toml; do
  all="$all $(basename "$(dirname "$manifest")")"
done
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $all

# CXX and CXXFLAGS may be several words each.
compile() {
  # shellcheck disable=SC2086
  ${CXX:-c++} -std=c++20 ${CXXFLAGS:--O2 -g} -I"$here" -I"$here/../include" -c "$1" -o "$2"
}

# A workload's sources: of the folders and files that it shares, which are the words of `shared = ["cfd"]` in its
# manifest, relative to the folder that its own is in; then its own.
sources() {
  case $1 in
    */*) parent=${1%/*}/ ;;
    *) parent= ;;
  esac
  for shared in $(sed -n 's/^shared = \[\(.*\)\]$/\1/p' "$here/$1/workload.toml" | tr "\"'," '   '); do
    case $shared in
      *.cpp) echo "$parent$shared" ;;
      *) (cd "$here" && ls "$parent$shared"/*.cpp) ;;
    esac
  done
  (cd "$here" && ls "$1"/*.cpp)
}

mkdir -p "$out/obj"
common=
for source in "$here"/common/*.cpp; do
  object=$out/obj/common_$(basename "$source" .cpp).o
  compile "$source" "$object"
  common="$common $object"
done
for name in "$@"; do
  if [ ! -f "$here/$name/workload.toml" ]; then
    echo "$0: no workload '$name'; there are$all, and for MPI mpi/NAME" >&2
    exit 2
  fi
  objects=
  for source in $(sources "$name"); do
    object=$out/obj/$(echo "${source%.cpp}" | tr / _).o
    compile "$here/$source" "$object"
    objects="$objects $object"
  done
  mkdir -p "$(dirname "$out/$name")"
  # shellcheck disable=SC2086
  ${CXX:-c++} ${CXXFLAGS:--O2 -g} $objects $common -o "$out/$name" ${LDFLAGS:-} -ldl
done
