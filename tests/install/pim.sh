# The component pim installs alone: a C program finds it with find_package and with pkg-config, links, runs; and the
# copy can be moved.
source "$(dirname "$0")/common.sh"
install_to "$work/first" pim
mv "$work/first" "$work/moved"
[[ $(cd "$work/moved" && find . -type f -name '*.h*' | sort | tr '\n' ' ') == \
  "./include/terrace/bmem.h ./include/terrace/bmem.hpp " ]] || { echo "pim brought other headers" >&2; exit 1; }

"$CMAKE" -S pim -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" >"$work/configure.log"
"$CMAKE" --build "$work/build" >"$work/build.log"
run_alone "$work/build/consumer"

export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
# shellcheck disable=SC2046  # the flags are words
"$CC" -std=c99 -Wall -Werror $(pkg-config --cflags terrace-bmem) pim/consumer.c $(pkg-config --libs terrace-bmem) \
  -o "$work/consumer"
run_alone "$work/consumer"

# It shows its own names and no others.
[[ -z $(nm -D --defined-only "$work/moved"/lib/terrace/libbmem.so | awk '{print $3}' | grep -v '^bmem_') ]] ||
  { echo "libbmem.so shows more than bmem_*" >&2; exit 1; }
