# Everything installed: find_package gives the component sim too, its wrapper builds a project with nothing but the
# compiler's name changed, and the program runs in virtual time on an installed machine file.
source "$(dirname "$0")/common.sh"
install_to "$work/first"
mv "$work/first" "$work/prefix"
readonly terrace=$work/prefix/bin/terrace

"$CMAKE" -S consumer -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DWANT=sim >"$work/configure.log"
"$CMAKE" --build "$work/build" >"$work/build.log"
run_alone "$work/build/consumer"

"$CMAKE" -S consumer -B "$work/build-hooked" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER="$work/prefix/bin/terrace-cc" >"$work/configure-hooked.log"
"$CMAKE" --build "$work/build-hooked" >"$work/build-hooked.log"
run_alone "$work/build-hooked/consumer"
cd "$work"
run_alone "$terrace" simulate --machine "$work/prefix/share/terrace/machines/unimem-bw2.toml" --fast 1MiB \
  --output consumer.terrace -- "$work/build-hooked/consumer" active
[[ -s consumer.terrace ]]
run_alone "$terrace" --version
