#!/bin/bash
# Runs the jobs in the guest: each leaves /tmp/out/NAME.txt (its output), NAME.status, and files of its own.
#
#   jobs.sh BUILD        the build folder; plans that the host prepared are in BUILD/tests/guest
#   jobs.sh BUILD soak   every job; without it those of `make test`
set -u
build=$1
soak=${2:-}
is_soak() { [[ $soak == soak ]]; }
here=$(dirname "$(readlink -f "$0")")
guest=$build/tests/guest
out=/tmp/out
library=$(readlink -f "$build/src/agent/libterrace.so")
export PATH=$build/src/cli:$PATH

job() {
  local name=$1
  shift
  # The auditor has to stand before Terrace's library: env puts it there.
  PHASE_AUDIT=$out/$name.audit "$@" >"$out/$name.txt" 2>"$out/$name.errors" </dev/null
  echo $? >"$out/$name.status"
}
audited=(env "LD_PRELOAD=$guest/phase_audit.so:$library")

# CG obeys plans: the official runs of class S, and of class W with vectors of its own.
obey() {
  job "cg_$1" terrace run --keep-plan --plan "$guest/cg_$1.toml" -o "$out/cg_$1.terrace" -- \
    "${audited[@]}" "$build/workloads/cg" --class "${1^^}"
}
# Programs without hooks follow plans that move data inside phases. The kernel is asked inside phases, too. The
# budget is the plan's and a little more: what `env` had of it before it became the program is not given back.
stream() {
  local name=stream_$1_$2 program=$1 budget=$3
  export PHASE_AUDIT_EVERY=$4  # microseconds
  shift 4
  job "$name" terrace run --keep-plan --plan "$guest/$name.toml" --budget "ddr=$budget" -o "$out/$name.terrace" -- \
    "${audited[@]}" "$build/workloads/$program" "$@"
  unset PHASE_AUDIT_EVERY
}
# CG learns: hooks in the first iteration, then a plan of its own.
learn() {
  job live terrace run --machine "$here/guest.toml" --fast 512KiB -o "$out/live.terrace" -- \
    "${audited[@]}" "$build/tests/integration/hooked/cg" --class S
}
# Forks, sudden death, a node that may not be used, all while data moves.
victim() {
  job "$1" terrace run --keep-plan --plan "$here/victim.toml" --machine "$here/guest.toml" -o "$out/$1.terrace" -- \
    "${audited[@]}" "$guest/victim" "${@:2}"
}
# Restricts a job to one node's memory, as a batch system does.
restricted() {
  mkdir -p /tmp/cpuset
  mount -t cgroup -o cpuset none /tmp/cpuset
  mkdir /tmp/cpuset/one
  echo 0-1 >/tmp/cpuset/one/cpuset.cpus
  echo 0 >/tmp/cpuset/one/cpuset.mems
  (
    echo $BASHPID >/tmp/cpuset/one/tasks
    victim restricted plain 6
  )
}

cat /sys/kernel/mm/transparent_hugepage/enabled >"$out/huge_pages.txt"
job machine terrace machine --json
job two_nodes "$guest/two_nodes_test"  # alone: it fills a node
# On this kernel, not the host's.
job page_watches "$build/tests/unit/observe/page_watches_test"
# Jobs of allocation by intent run alone, too.
few=("--gtest_filter=*EveryOrdering*bandwidth_cores0_at_touch:Both/*AtOnce")
if is_soak; then few=(); fi
job ordered "$guest/ordered_fill_guest_test" "${few[@]}"
by_intent() {
  echo 1 >/proc/sys/vm/drop_caches  # the page cache takes free memory of a place
  job "intent_$1" terrace run "${@:2}"
}
program=$build/tests/integration/by_intent
by_intent touch --intent bandwidth -- "$program" malloc 160
by_intent fork --intent bandwidth -- "$program" fork 16
if is_soak; then
  by_intent mark --intent bandwidth --watermark 0.5 -- "$program" malloc 160
  by_intent capacity --intent capacity -- "$program" malloc 160
  by_intent eager --intent bandwidth --eager -- "$program" malloc 160
  by_intent alloc --quiet -o "$out/alloc.terrace" -- "$program" alloc 160 latency
  by_intent apply --quiet -o "$out/apply.terrace" -- "$program" apply 160 bandwidth
  by_intent mine --machine "$here/own_order.toml" --intent mine -- "$program" malloc 160
fi
# Small blocks: by the run's intent, and by the thread's own.
by_intent small_run --intent capacity -- "$program" small 48
if is_soak; then by_intent small_thread --quiet -o "$out/small.terrace" -- "$program" small 160 bandwidth; fi
# Under memkind's names: each policy, also until there is no more; with nodes that the user names; with huge pages.
# Without soak only what is left to the kernel's preference.
hbw() {
  echo 1 >/proc/sys/vm/drop_caches
  job "hbw_$1" env "${@:2}"
}
calls=$build/tests/integration/hbw_calls
places=()
if ! is_soak; then places=(HBW_CALLS_PLACES=1); fi
hbw far_preferred "MEMKIND_HBW_NODES=!0" "${places[@]}" "$calls" preferred 1
if is_soak; then
  hbw preferred "$calls" preferred 0 fill
  hbw run_bind terrace run -o "$out/hbw_bind.terrace" -- "$calls" bind 0 fill
  hbw both_interleave MEMKIND_HBW_NODES=0-1 "$calls" interleave 0,1
  hbw bind "$calls" bind 0 fill
  hbw bind_all "$calls" bind_all 0
  hbw interleave "$calls" interleave 0
  hbw run_preferred terrace run --quiet -o "$out/hbw_preferred.terrace" -- "$calls" preferred 0
  hbw both_bind_all MEMKIND_HBW_NODES=0,1 "$calls" bind_all 0,1
  hbw far_bind MEMKIND_HBW_NODES=1 "$calls" bind 1
  pool=/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
  echo 10 >$pool
  hbw huge_bind "$calls" bind 0
  hbw huge_preferred "$calls" preferred 0
  echo 0 >$pool
fi
# A program without hooks, markers or a plan: its pages are watched. Alone: it goes by the clock. To compare takes
# 16 iterations with the plan and 16 without, of about a second on a machine that has other things to do.
watch() {
  job "$1" terrace run --machine "$here/guest.toml" --fast 28MiB -o "$out/$1.terrace" "${@:4}" -- \
    "$guest/watched" 24 0 "$2" "$3"
}
if is_soak; then
  watch watched 150 20 --keep-plan
  watch proved 180 60
fi
learn &
obey s
if is_soak; then
  stream mg sentinel 12352KiB 100000 --class W --iterations 3
  obey w
  stream cg accesses 4160KiB 200000 --class W --iterations 3
  stream cg timer 4160KiB 200000 --class W --iterations 3
  stream mg timer 12352KiB 100000 --class W --iterations 3
  for progress in timer sentinel; do
    stream hydro $progress 8256KiB 30000 --side 256 --steps 3
  done
fi
victim forks fork 6
victim killed kill 6
restricted
wait
grep -E '^(oom_kill|thp_fault_alloc|thp_split_page) ' /proc/vmstat >"$out/vmstat.txt"
