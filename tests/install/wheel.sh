# The wheel of scripts/wheel in a system that has Python and nothing else: the launcher runs programs with our
# library in them, a program built elsewhere with the wrappers runs in virtual time, the subcommands that analyse
# read its profile, and the uninstalled wheel leaves no file.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/bare_root.sh"
readonly python=$1
command -v patchelf >/dev/null || skip "patchelf is not installed"
bare_root python3 python3-venv

wheel=$("$TERRACE_SOURCE/scripts/wheel" --build "$TERRACE_BUILD" --output "$work" 2>"$work/wheel.log") ||
  { cat "$work/wheel.log" >&2; exit 1; }
[[ $(basename "$wheel") =~ ^terrace-[0-9.]+-cp3[0-9]+-cp3[0-9]+-manylinux_2_[0-9]+_x86_64.whl$ ]]
# The other packages that it needs are fetched here, in the versions that are tested, and kept.
readonly house=$TERRACE_BUILD/wheelhouse
fetch() {
  "$python" -m pip download --quiet --dest "$house" -c "$TERRACE_SOURCE/scripts/constraints.txt" "$@" "$wheel" \
    >"$work/download.log" 2>&1
}
fetch --no-index --find-links "$house" || fetch || skip "the packages that it needs cannot be fetched"
rm -f "$house"/terrace-*.whl
mkdir "$root/wheels"
cp "$house"/*.whl "$wheel" "$root/wheels/"
in_root 'python3 -m venv /venv && /venv/bin/pip install --quiet --no-index --find-links /wheels terrace'

for part in bin/terrace bin/terrace-cc bin/terrace-c++ bin/terrace-fc lib/terrace/libterrace.so \
  lib/terrace/stand-ins/as share/terrace/machines/unimem-bw2.toml include/terrace/terrace.h lib/pkgconfig/terrace.pc \
  include/terrace/stencil.hpp lib/terrace/libterrace_stencil.so lib/pkgconfig/terrace-stencil.pc \
  lib/cmake/Terrace/TerraceConfig.cmake share/man/man1/terrace-run.1 share/bash-completion/completions/terrace; do
  [[ -e $root/venv/$part ]] || { echo "the wheel has no $part" >&2; exit 1; }
done
[[ $(head -c 4 "$root/venv/bin/terrace") == $'\x7fELF' ]] || { echo "a script stands before the launcher" >&2; exit 1; }
# All that is asked for is in the wheel or of glibc and gcc.
in_root 'find /venv/bin /venv/lib/terrace /venv/lib/python3*/site-packages/terrace* -type f | while read -r file; do
    { ldd "$file" 2>/dev/null || true; } | sed "s|^|$file |"; done' >"$work/needs"
[[ $(grep -c libsqlite3- "$work/needs") -ge 2 ]]
if grep -E 'not found' "$work/needs" >&2; then exit 1; fi
if grep '=> /lib' "$work/needs" | grep -vE '/(libc|libm|libgcc_s|libstdc\+\+)\.so\.' >&2; then exit 1; fi

in_root 'cd /tmp; export PATH=/venv/bin:$PATH
  terrace --version | grep "^terrace [0-9.]* " >/dev/null
  terrace run -q -- /bin/true
  status=0; terrace run -q -- sh -c "exit 3" || status=$?; [[ $status == 3 ]]
  terrace run -q -- cat /proc/self/maps | grep /venv/lib/terrace/libterrace_unfollowed.so >/dev/null
  terrace machine --json 2>/dev/null | python3 -c "import json, sys; assert json.load(sys.stdin)[\"schema\"] >= 1"
  terrace machine check >/dev/null
  terrace machine unimem-bw2 >/dev/null
  terrace --help | grep "^  report " >/dev/null'

# A program with hooks, from a machine with a compiler.
install_to "$work/prefix"
"$work/prefix/bin/terrace-cc" -g -O2 $(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config --cflags terrace) \
  consumer/consumer.c -o "$root/tmp/consumer"
in_root 'cd /tmp; export PATH=/venv/bin:$PATH
  terrace record -q -m unimem-bw2 -o consumer.terrace -- ./consumer active
  terrace show consumer.terrace --json | python3 -c "import json, sys; assert json.load(sys.stdin)[\"accesses\"] > 90000"
  terrace bounds consumer.terrace --fast 1MiB >/dev/null
  terrace plan consumer.terrace --fast 1MiB -o plan.toml >/dev/null && [[ -s plan.toml ]]
  terrace report consumer.terrace -o page.html >/dev/null && grep -q "<html" page.html
  terrace lab --help >/dev/null
  /venv/bin/pip uninstall --quiet --yes terrace
  [[ -z $(find /venv -iname "*terrace*" ! -type d) ]] || { find /venv -iname "*terrace*" ! -type d >&2; exit 1; }'
