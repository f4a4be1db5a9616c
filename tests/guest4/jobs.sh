#!/bin/bash
# Runs the jobs in the guest with four nodes: each leaves /tmp/out/NAME.txt (its output), NAME.status, and files of
# its own.
#
#   jobs.sh BUILD        the build folder
#   jobs.sh BUILD soak   every job; without it those of `make test`
set -u
build=$1
soak=${2:-}
is_soak() { [[ $soak == soak ]]; }
here=$(dirname "$(readlink -f "$0")")
guest=$build/tests/guest4
out=/tmp/out
export PATH=$build/src/cli:$PATH

job() {
  local name=$1
  shift
  "$@" >"$out/$name.txt" 2>"$out/$name.errors" </dev/null
  echo $? >"$out/$name.status"
}

# Prints the kernel's figures of its nodes: "nodeN/FILE:TEXT".
kernel_nodes() (
  cd /sys/devices/system/node || exit
  for node in node*; do
    grep -H . "$node/distance"
    grep -H MemTotal "$node/meminfo"
    for file in "$node"/access0/initiators/*; do
      case $file in
        */node*) echo "$file:" ;;
        */read_* | */write_*) grep -H . "$file" ;;
      esac
    done
  done
)
# Terrace's view of the machine, to compare with the kernel's.
views() {
  job "nodes_$1" kernel_nodes
  job "machine_$1" terrace machine --json
  job "orderings_$1" terrace machine orderings --json
}

# In a group whose processes may have less memory than any ordinary node has; no swap.
limited() {
  mount -t cgroup2 none /sys/fs/cgroup
  echo +memory >/sys/fs/cgroup/cgroup.subtree_control
  mkdir /sys/fs/cgroup/job
  echo 120M >/sys/fs/cgroup/job/memory.max
  (
    echo $BASHPID >/sys/fs/cgroup/job/cgroup.procs
    job limited_machine terrace machine --json
    job limited_said terrace machine
    job limited_check terrace machine check --json
    job limited_budget terrace run --fast 80MiB -o "$out/limited.terrace" -- "$build/workloads/cg" --class S
    job limited_spill terrace run --memory 64MiB --spill /var/tmp -- "$build/workloads/sort" --keys 2000000 --iterations 1
    job limited_intent terrace run --intent bandwidth -- "$build/tests/integration/by_intent" malloc 80
  )
  cp /sys/fs/cgroup/job/memory.events "$out/limited_events.txt"
}
# The kernel looks for pages to move as often as it can.
balance() {
  mount -t debugfs none /sys/kernel/debug
  for pair in scan_delay_ms:10 scan_period_min_ms:20 scan_period_max_ms:100 scan_size_mb:64; do
    echo "${pair#*:}" >"/sys/kernel/debug/sched/numa_balancing/${pair%:*}"
  done
  echo 1 >/proc/sys/kernel/numa_balancing
}

views four
# Alone: it fills all nodes.
few=("--gtest_filter=*EveryOrdering*latency_cores1_at_touch:*EveryOrdering*mine_cores0_at_once:Both/*AtTouch")
if is_soak; then few=(); fi
job ordered "$build/tests/guest/ordered_fill_guest_test" "${few[@]}"
# Under memkind's names, from either socket.
calls=$build/tests/integration/hbw_calls
job hbw_bind_1 taskset -c 1 "$calls" bind 3
if is_soak; then
  job hbw_bind_0 taskset -c 0 "$calls" bind 2
  job hbw_preferred_1 taskset -c 1 "$calls" preferred 3
  job hbw_bind_all_1 taskset -c 1 "$calls" bind_all 3,2
fi
job hbw_interleave_0 taskset -c 0 "$calls" interleave 2,3 fill
limited
balance
if is_soak; then job balancing "$guest/balancing_test"; fi  # it takes a machine with nothing else to do
job stress "$guest/stress" 20
job online "$here/../guest_bed/online_nvdimm.sh"
views nvm
grep -E '^(oom_kill|numa_pages_migrated) ' /proc/vmstat >"$out/vmstat.txt"
