# Programs with hooks, built by the compilers themselves with nothing but what pkg-config says: in one step and in two,
# in C, in Fortran, with clang; from a copy that was moved after its installation.
source "$(dirname "$0")/common.sh"
install_to "$work/first"
mv "$work/first" "$work/moved"
export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
readonly terrace=$work/moved/bin/terrace

# Runs alone as always, and in virtual time with its accesses seen.
expect_hooked() {
  local program=$1
  shift
  run_alone "$program"
  rm -f "$work/hooked.terrace"
  run_alone "$terrace" simulate -q --machine "$work/moved/share/terrace/machines/unimem-bw2.toml" \
    --output "$work/hooked.terrace" -- "$program" "$@"
  python3 -c 'import sqlite3, sys
[(accesses,)] = sqlite3.connect(sys.argv[1]).execute("SELECT accesses FROM counters")
assert accesses > 90000, accesses' "$work/hooked.terrace"
  nm -D "$program" | grep -q __tsan_func_entry || { echo "$program has no hooks" >&2; exit 1; }
  if readelf -d "$program" | grep -q libtsan; then
    echo "$program wants the sanitizer's library" >&2
    exit 1
  fi
}

# shellcheck disable=SC2046,SC2207  # the flags are words
build_both_ways() {
  local name=$1 package=$2
  shift 2
  local compile=($(pkg-config --cflags "$package")) link=($(pkg-config --libs "$package"))
  "$@" -O2 -Wall -Werror "${compile[@]}" consumer/consumer.c "${link[@]}" -o "$work/$name-one"
  expect_hooked "$work/$name-one" active
  "$@" -O2 -Wall -Werror "${compile[@]}" -c consumer/consumer.c -o "$work/$name.o"
  "$@" "${link[@]}" "$work/$name.o" -o "$work/$name-two"
  expect_hooked "$work/$name-two" active
  # As build systems do that pass everything to every step.
  "$@" -O2 "${compile[@]}" "${link[@]}" "$work/$name.o" -o "$work/$name-all"
  expect_hooked "$work/$name-all" active
}

build_both_ways gcc terrace-hooks gcc
if command -v clang >/dev/null; then build_both_ways clang terrace-hooks-clang clang; fi
if command -v gfortran >/dev/null; then
  cat >"$work/fields.f90" <<'FORTRAN'
program fields
  real :: a(100000)
  a = 2.0
  a = a + 1.0
  print '(i6)', int(sum(a))
end program
FORTRAN
  # shellcheck disable=SC2046
  gfortran -O2 -Wall -Werror $(pkg-config --variable=fflags terrace-hooks) "$work/fields.f90" \
    $(pkg-config --libs terrace-hooks) -o "$work/fields"
  [[ $(run_alone "$work/fields") == 300000 ]]
  nm -D "$work/fields" | grep -q __tsan_write
fi
