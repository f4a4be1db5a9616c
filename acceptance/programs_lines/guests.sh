#!/bin/bash
# Runs one program in the guest of guests.py: without Terrace, then under Terrace with its defaults, then with a plan
# that stays whatever the comparison finds. A separate auditor reads the pages of the latter two from the kernel. Each
# leaves /tmp/out/NAME.WAY.txt (standard output), .errors, .status; .terrace and .audit.
#
#   guests.sh BUILD MACHINE NAME FAST COMMAND...    NAME is the executable's
set -u
build=$1 machine=$2 name=$3 fast=$4
shift 4
out=/tmp/out
export PATH=$build/src/cli:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

job() {
  local way=$1
  shift
  "$@" >"$out/$name.$way.txt" 2>"$out/$name.$way.errors" </dev/null
  echo $? >"$out/$name.$way.status"
}
audited() {
  local way=$1 audit=$out/$name.$1.audit
  shift
  "$build/tests/guest/page_audit" "$audit" 200 "$name" &
  local auditor=$!
  job "$way" terrace run --machine "$machine" --fast "$fast" -o "$out/$name.$way.terrace" "$@"
  [ -s "$audit" ] || kill $auditor # it never saw the program
  wait $auditor
}

job plain "$@"
audited proved -- "$@"
audited kept --keep-plan -- "$@"
