"""NumPy arrays with memory attributes: operations are unchanged; `terrace run` places the data."""

import ctypes
import json
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest
import terrace as package
from conftest import TERRACE
from hypothesis import given, settings
from hypothesis import strategies as st
from terrace import _arrays

LARGE = 100_000


def handler_of(values):
    return np._core.multiarray.get_handler_name(values)


def test_arrays_keep_their_allocator():
    before = np.zeros(LARGE)
    with package.intent("bandwidth"):
        within = np.zeros(LARGE)
        with package.intent("capacity"):
            inner = np.ones(LARGE)
        again = within + 1
    after = np.zeros(LARGE)
    names = [handler_of(one) for one in (before, within, inner, again, after)]
    assert names == [
        "default_allocator",
        "terrace_bandwidth",
        "terrace_capacity",
        *names[1:2],
        "default_allocator",
    ]
    within.resize(3 * LARGE, refcheck=False)
    assert (within[LARGE:] == 0).all()
    assert handler_of(within) == "terrace_bandwidth"


def test_exception_restores_the_handler():
    with pytest.raises(KeyError), package.intent("latency"):
        raise KeyError
    assert handler_of(np.zeros(3)) == "default_allocator"


def test_other_threads_have_their_own_handler():
    found = []
    with package.intent("bandwidth"):
        thread = threading.Thread(target=lambda: found.append(handler_of(np.zeros(3))))
        thread.start()
        thread.join()
    assert found == ["default_allocator"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["new", "empty", "resize", "drop"]), st.integers(0, 40_000)), max_size=30)
)
def test_contents_survive_all_operations(steps):
    kept = []
    with package.intent("bandwidth"):
        for number, (what, size) in enumerate(steps):
            if what == "new":
                kept.append((np.full(size, number, dtype=np.int64), [number] * size))
            elif what == "empty":
                kept.append((np.empty(size, dtype=np.int64), None))
            elif what == "resize" and kept:
                values, known = kept.pop()
                before = None if known is None else known[:size] + [0] * (size - len(known))
                values.resize(size, refcheck=False)
                kept.append((values, before))
            elif kept:
                kept.pop(0)
    for values, known in kept:
        assert known is None or values.tolist() == known


def test_names_without_terrace_are_ignored():
    values = np.arange(10)
    assert package.array("a", values) is values
    assert package.array("empty", np.zeros(0)).size == 0
    with pytest.raises(ValueError, match="empty"):
        package.array("", values)


PROGRAM = """
import ctypes, json
import numpy as np
import terrace

where = ctypes.CDLL(None).terrace_where
where.restype, where.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
with terrace.intent("bandwidth"):
    large, small = np.zeros(1_000_000), np.zeros(10)
    large += 1
terrace.array("mine", large)
terrace.array("part", np.ones((2000, 1000))[::-1, 10:20])
try:
    with terrace.intent("nonsense"):
        text = ""
except ValueError as error:
    text = str(error)
rows = np.arange(1_000_000.0)
print(json.dumps([where(large.ctypes.data) is not None, large.ctypes.data % 4096, float(large.sum()), text]))
large = None
terrace.array("rows", rows)
"""


def test_terrace_run_places_and_names_arrays(tmp_path):
    command = [TERRACE, "run", "-o", tmp_path / "o.terrace", "--", sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    is_placed, offset, total, text = json.loads(done.stdout)
    assert (is_placed, offset, total) == (True, 0, 1_000_000)
    assert "no intent 'nonsense'" in text
    # 8 MB by bandwidth, in whole pages, and an extent of 2 MiB that small arrays come from.
    assert "9864KiB of data by bandwidth" in done.stderr


def test_arrays_are_objects_in_profiles(tmp_path, terrace):
    command = [TERRACE, "run", "-o", tmp_path / "o.terrace", "--", sys.executable, "-c", PROGRAM]
    assert subprocess.run(command, capture_output=True, timeout=300).returncode == 0
    shown = terrace("show", tmp_path / "o.terrace", "--all").stdout
    names = {line.split()[0] for line in shown.splitlines() if "named" in line}
    assert {"mine", "part", "rows"} <= names
    with sqlite3.connect(tmp_path / "o.terrace") as store:
        lives = dict(store.execute("SELECT name, died IS NULL FROM object WHERE kind = 'named'"))
    assert (lives["mine"], lives["part"]) == (0, 0)  # both were freed, one of them where an intent had put it


OFF = """
import json
import numpy as np
import terrace

with terrace.intent("nonsense"):
    large = terrace.array("mine", np.ones(1_000_000))
print(json.dumps([terrace._arrays.active(), float(large.sum())]))
"""


def test_off_disables_placement():
    environment = {"TERRACE": "off", "PATH": "/usr/bin:/bin"}
    command = [TERRACE, "run", "--", sys.executable, "-c", OFF]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [False, 1_000_000]
    assert _arrays.active() is False
    assert not hasattr(ctypes.CDLL(None), "terrace_alloc")


def test_numpys_own_tests_pass_with_intent(tmp_path):
    """Runs a part of them; docs/how-to/python.md has the command for all."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "terrace.numpy_plugin"]
    command += [
        "-W",
        "ignore",
        "--pyargs",
        "numpy._core.tests.test_indexing",
        "numpy._core.tests.test_item_selection",
    ]
    done = subprocess.run(
        [TERRACE, "run", "-o", tmp_path / "o.terrace", "--", *command],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "arrays by intent, under terrace" in done.stdout
    assert "of data by bandwidth" in done.stderr
