# Everything installed: find_package gives the component sim too, its wrapper compiles a project with nothing but
# CMAKE_C_COMPILER changed, and the program runs in virtual time on an installed machine file.
source "$(dirname "$0")/common.sh"
install_to "$work/prefix"

"$CMAKE" -S consumer -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DWANT=sim >"$work/configure.log"
"$CMAKE" --build "$work/build" >"$work/build.log"
run_alone "$work/build/consumer"
"$work/prefix/bin/terrace" --version
