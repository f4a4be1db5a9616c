# The component stencil_hdf5 installs next to stencil, and only if it is named: a program finds it with
# find_package and with pkg-config, links, and goes on from its checkpoint; and the copy can be moved.
source "$(dirname "$0")/common.sh"
install_to "$work/first" stencil
[[ ! -e $work/first/include/terrace/stencil/hdf5.hpp ]] || { echo "hdf5.hpp came with stencil" >&2; exit 1; }
install_to "$work/first" stencil_hdf5
mv "$work/first" "$work/moved"

"$CMAKE" -S stencil_hdf5 -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Debug \
  >"$work/configure.log"
"$CMAKE" --build "$work/build" >"$work/build.log"
readonly source=$PWD/stencil_hdf5/consumer.cpp
cd "$work"
run_alone "$work/build/consumer"

export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
# shellcheck disable=SC2046  # the flags are words
"$CXX" -std=c++20 -Wall -Wextra -Werror -O2 $(pkg-config --cflags terrace-stencil-hdf5) "$source" \
  $(pkg-config --libs terrace-stencil-hdf5) -o "$work/by-pkg-config"
run_alone "$work/by-pkg-config"

readonly library=$work/moved/lib/terrace/libterrace_stencil_hdf5.so
[[ -z $(nm -DC --defined-only "$library" | cut -d' ' -f3- | grep -v '^terrace::stencil::') ]] ||
  { echo "libterrace_stencil_hdf5.so shows more than terrace::stencil" >&2; exit 1; }
