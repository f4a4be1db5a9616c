# For the tests of the installed copy; sourced. Gives: $work, an empty folder; install_to PREFIX [COMPONENT];
# expect_refusal COMMAND..., for what must not work.
set -euo pipefail
work=$TERRACE_BUILD/install-tests/$(basename "$0" .sh)${1:+-$(basename "$1")}
rm -rf "$work"
mkdir -p "$work"

install_to() {
  "$CMAKE" --install "$TERRACE_BUILD" --prefix "$1" ${2:+--component "$2"} >"$work/install.log"
}

expect_refusal() {
  if "$@" >"$work/refusal.log" 2>&1; then
    echo "should have been refused: $*" >&2
    exit 1
  fi
}

# Runs a consumer with nothing in its environment that could help it find the library.
run_alone() { env -i PATH=/usr/bin:/bin "$@"; }
