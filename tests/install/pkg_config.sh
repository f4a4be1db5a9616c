# Programs in C and C++ built with nothing but what pkg-config says, from a copy that was moved after its installation.
source "$(dirname "$0")/common.sh"
install_to "$work/first" core
mv "$work/first" "$work/moved"
export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig

[[ $(pkg-config --modversion terrace) == "$(sed -n 's/^project(Terrace VERSION \([0-9.]*\).*/\1/p' \
  "$TERRACE_SOURCE/CMakeLists.txt")" ]]
# shellcheck disable=SC2046  # the flags are words
"$CC" -std=c99 -Wall -Werror $(pkg-config --cflags terrace) consumer/consumer.c $(pkg-config --libs terrace) \
  -o "$work/consumer"
run_alone "$work/consumer"

# shellcheck disable=SC2046
"$CC" -std=c99 -Wall -Werror $(pkg-config --cflags terrace-hbw) consumer/consumer_hbw.c \
  $(pkg-config --libs terrace-hbw) -o "$work/consumer_hbw"
run_alone "$work/consumer_hbw"
MEMKIND_HBW_NODES=0 "$work/consumer_hbw"
# shellcheck disable=SC2046
"$CXX" -std=c++20 -Wall -Wextra -Werror $(pkg-config --cflags terrace) consumer/containers.cpp -o "$work/containers"
run_alone "$work/containers"
