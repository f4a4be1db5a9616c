# `pip install .`: a wheel is built from the source tree and installed into a fresh environment, which then has the
# package, the native launcher, the library and the machine files. The other packages that it needs are lent by the
# environment that runs the tests, so that nothing is fetched. It is configured, linked and installed as pip does it; an
# object that pip would compile with the very command of the build that is tested is copied from there.
source "$(dirname "$0")/common.sh"
readonly python=$1
lent=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')

export TERRACE_OBJECTS=$work/objects
"$python" reuse_objects.py --index "$TERRACE_BUILD" "$TERRACE_OBJECTS"
launcher="$python;-I;-S;$PWD/reuse_objects.py"
"$python" -m pip wheel --quiet --no-build-isolation --no-deps --no-index --wheel-dir "$work/wheel" \
  --config-settings=build-dir="$TERRACE_BUILD/pip" \
  --config-settings=cmake.define.CMAKE_C_COMPILER_LAUNCHER="$launcher" \
  --config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER="$launcher" "$TERRACE_SOURCE"
"$python" -m venv --without-pip "$work/venv"
"$python" -m pip --python "$work/venv/bin/python" install --quiet --no-deps --no-index "$work"/wheel/terrace-*.whl
echo "$lent" >"$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/lent.pth"

cd "$work"
run_alone "$work/venv/bin/python" - "$work/venv" <<'PYTHON'
import sys
import terrace
import terrace._core

for module in (terrace, terrace._core):
    assert module.__file__.startswith(sys.argv[1]), f"not the installed copy: {module.__file__}"
PYTHON
run_alone "$work/venv/bin/terrace" --version
for part in bin/terrace bin/terrace-cc bin/terrace-c++ bin/terrace-fc lib/terrace/libterrace.so \
  share/terrace/machines include/terrace/terrace.h; do
  [[ -e $work/venv/$part ]] || { echo "the wheel has no $part" >&2; exit 1; }
done
