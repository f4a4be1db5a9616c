# The Debian package in a bare Debian: apt installs its dependencies, the launcher runs programs, the subcommands
# that analyse work with the distribution's NumPy and SciPy, man and bash find pages and completion, a C program is
# built with the flags of pkg-config, and the removed package leaves no file.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/bare_root.sh"
command -v dpkg-shlibdeps >/dev/null || skip "dpkg-dev is not installed"
# Dependencies of the package, so that apt fetches them once.
bare_root man-db bash-completion python3-numpy python3-scipy python3-tomli-w gcc libc6-dev pkg-config libfmt9 libpfm4 libhwloc15 \
  libdw1 libcapstone4 libsqlite3-0 libzstd1

package=$("$TERRACE_SOURCE/scripts/deb" --build "$TERRACE_BUILD" --output "$work" 2>"$work/deb.log") ||
  { cat "$work/deb.log" >&2; exit 1; }
[[ $(dpkg-deb -f "$package" Version) == "$(sed -n 's/^project(Terrace VERSION \([0-9.]*\).*/\1/p' \
  "$TERRACE_SOURCE/CMakeLists.txt")" ]]
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$package" >"$work/lintian.log" 2>&1 || { cat "$work/lintian.log" >&2; exit 1; }
fi

list() { find "$root" -xdev -not -path "$root/var/*" -not -path "$root/tmp/*" -not -path "$root/root/*" | sort; }
list >"$work/before"
cp "$package" "$root/tmp/"
cp consumer/consumer.c "$root/tmp/"
# No mirror is asked: what it depends on is there.
in_root ': >/etc/apt/sources.list
  apt-get -qq install -y --no-install-recommends /tmp/terrace_*.deb' >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; exit 1; }

in_root 'cd /tmp
  terrace --version | grep "^terrace [0-9.]* " >/dev/null
  [[ $(which terrace) == /usr/bin/terrace ]]
  terrace run -q -- /bin/true
  status=0; terrace run -q -- sh -c "exit 3" || status=$?; [[ $status == 3 ]]
  terrace run -q -- cat /proc/self/maps | grep /usr/lib/terrace/libterrace_unfollowed.so >/dev/null
  terrace machine >/dev/null 2>&1
  terrace machine unimem-bw2 >/dev/null
  terrace --help | grep "^  report " >/dev/null
  # Pages and completion, by the tools that look for them.
  [[ $(man -w terrace-run) == /usr/share/man/man1/terrace-run.1.gz ]]
  man terrace-run 2>/dev/null | grep -- --spill >/dev/null
  whatis terrace >/dev/null
  bash --norc -c "source /usr/share/bash-completion/bash_completion; _completion_loader terrace
    COMP_WORDS=(terrace run --machine unimem-ed) COMP_CWORD=3; _terrace; [[ \${COMPREPLY[*]} == unimem-edison ]]"
  [[ -e /usr/share/zsh/vendor-completions/_terrace && -e /usr/share/fish/vendor_completions.d/terrace.fish ]]
  # A program built here.
  terrace-cc -g -O2 $(pkg-config --cflags terrace) consumer.c -o hooked
  gcc -O2 $(pkg-config --cflags terrace) consumer.c $(pkg-config --libs terrace) -o plain && ./plain
  # One in C++ would find its library, and that what it needs.
  [[ -e $(pkg-config --variable=includedir terrace-stencil)/terrace/stencil.hpp ]]
  python3 -c "import ctypes, sys; ctypes.CDLL(sys.argv[1])" $(pkg-config --variable=libdir terrace-stencil)/libterrace_stencil.so
  terrace record -q -m unimem-bw2 -o hooked.terrace -- ./hooked active
  terrace show hooked.terrace --json | python3 -c "import json, sys; assert json.load(sys.stdin)[\"accesses\"] > 90000"
  terrace bounds hooked.terrace --fast 1MiB >/dev/null
  terrace plan hooked.terrace --fast 1MiB -o plan.toml >/dev/null && [[ -s plan.toml ]]
  terrace report hooked.terrace -o page.html >/dev/null && grep "<html" page.html >/dev/null
  terrace export hooked.terrace --format csv --table cell >cells.csv && [[ -s cells.csv ]]
  terrace compare --pairs 2 -- true >/dev/null
  # The interpreter of an environment that is active is not ours.
  mkdir -p other; printf "#!/bin/sh\nexit 9\n" >other/python3; chmod +x other/python3
  PATH=$PWD/other:$PATH terrace show hooked.terrace >/dev/null
  apt-get -qq purge -y terrace >/dev/null 2>&1'
list >"$work/after"
# In the folders that others write into, their files stay: the list of manual pages, apt.
diff "$work/before" "$work/after" >"$work/left" || true
if grep -i terrace "$work/left" >&2; then exit 1; fi
