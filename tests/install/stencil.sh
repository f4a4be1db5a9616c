# The component stencil installs alone: a C++ program finds it with find_package and with pkg-config, links, runs, with
# gcc and with clang, with and without checks, and no header draws a warning; and the copy can be moved.
#
#   stencil.sh           with gcc, and all headers together; optimised once
#   stencil.sh headers   also with clang, and each header by itself; always optimised
readonly mode=${1:-}
source "$(dirname "$0")/common.sh"
install_to "$work/first" stencil
mv "$work/first" "$work/moved"
if others=$(cd "$work/moved" && find include -type f | grep -v '^include/terrace/stencil[./]'); then
  echo "stencil brought other headers: $others" >&2
  exit 1
fi

kind=Debug level=-O0
if [[ $mode == headers ]]; then kind=Release level=-O2; fi
"$CMAKE" -S stencil -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=$kind >"$work/configure.log"
"$CMAKE" --build "$work/build" >"$work/build.log"
cd "$work"
run_alone "$work/build/consumer"

export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
readonly source=$OLDPWD/stencil/consumer.cpp
readonly warnings=(-std=c++20 -Wall -Wextra -Werror)
cflags=$(pkg-config --cflags terrace-stencil)
# MPI, of whichever maker, is the program's own.
mpi=""
for package in mpich ompi-c; do
  if PKG_CONFIG_PATH="" pkg-config --exists "$package"; then mpi=$package; fi
done
mpi_cflags=${mpi:+$(PKG_CONFIG_PATH="" pkg-config --cflags "$mpi")}
# shellcheck disable=SC2046,SC2086  # the flags are words
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  [[ $compiler == g++ || $mode == headers ]] || continue
  for checks in "" -DTERRACE_STENCIL_CHECKS; do
    # The whole form has the optimiser's warnings with checks, too.
    "$compiler" "${warnings[@]}" $([[ -z $checks ]] && echo -O2 || echo $level) $checks $cflags "$source" \
      $(pkg-config --libs terrace-stencil) -o "$work/consumer$checks-$compiler"
    run_alone "$work/consumer$checks-$compiler"
    [[ -z $checks || $mode == headers ]] || continue
    "$compiler" "${warnings[@]}" -fsyntax-only $checks ${cflags/-I/-isystem } "$source"
    # Each header by itself: as gcc sees it without checks, and clang with them.
    [[ $mode == headers && ($compiler$checks == g++ || $compiler$checks == clang++?*) ]] || continue
    for header in "$work"/moved/include/terrace/stencil.hpp "$work"/moved/include/terrace/stencil/*.hpp; do
      [[ $header == */mpi.hpp && -z $mpi ]] && continue
      "$compiler" "${warnings[@]}" -fsyntax-only $checks $cflags ${mpi_cflags/-I/-isystem } -include "$header" -x c++ /dev/null
    done
  done
done

if [[ -n $mpi ]]; then
  # shellcheck disable=SC2046,SC2086
  "$CXX" -std=c++20 $level -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX $cflags $mpi_cflags "${source/consumer.cpp/ranks.cpp}" \
    $(pkg-config --libs terrace-stencil) $(PKG_CONFIG_PATH="" pkg-config --libs "$mpi") -o "$work/ranks"
  launcher=mpirun
  for name in mpirun.mpich mpirun.openmpi; do
    if [[ $name == *"${mpi/ompi-c/openmpi}" ]] && command -v "$name" >/dev/null; then launcher=$name; fi
  done
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$launcher" -n 2 "$work/ranks"
fi

# It shows its own names and no others, and needs the C++ library alone.
readonly library=$work/moved/lib/terrace/libterrace_stencil.so
[[ -z $(nm -DC --defined-only "$library" | cut -d' ' -f3- | grep -v '^terrace::stencil::') ]] ||
  { echo "libterrace_stencil.so shows more than terrace::stencil" >&2; exit 1; }
[[ -z $(readelf -d "$library" | grep NEEDED | grep -vE '\[(libstdc\+\+|libm|libgcc_s|libc)\.so') ]] ||
  { echo "libterrace_stencil.so needs other libraries" >&2; exit 1; }
