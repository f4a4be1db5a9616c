# Core installs alone: a C program finds it with find_package, links, runs; what belongs to other components is
# neither there nor claimed to be. And the copy can be moved.
source "$(dirname "$0")/common.sh"
install_to "$work/first" core
mv "$work/first" "$work/moved"

[[ ! -e $work/moved/bin/terrace-cc ]] || { echo "core brought the compiler wrappers" >&2; exit 1; }
[[ ! -e $work/moved/share/terrace/machines ]] || { echo "core brought the machine files" >&2; exit 1; }
[[ -z $(find "$work/moved" -name '*.py') ]] || { echo "core brought Python" >&2; exit 1; }

"$CMAKE" -S consumer -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" >"$work/configure.log"
"$CMAKE" --build "$work/build" >"$work/build.log"
run_alone "$work/build/consumer"
run_alone "$work/build/consumer_hbw"

expect_refusal "$CMAKE" -S consumer -B "$work/build-sim" -DCMAKE_PREFIX_PATH="$work/moved" -DWANT=sim
grep -q sim "$work/refusal.log"
