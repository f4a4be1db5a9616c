# SPDX-License-Identifier: Apache-2.0
"""The library with memkind's names has the functions of hbwmalloc(3), and hbw_calls tests each of them: it fails
where tests/support/hbw_witness.c, which stands before the library, breaks one.
"""

import os
import re
import subprocess
from collections import Counter

import pytest
from conftest import BUILD, ROOT

SUPPORT, INCLUDE = ROOT / "tests" / "support", ROOT / "include" / "terrace"
MANUAL = [line for line in (SUPPORT / "hbwmalloc.txt").read_text().splitlines() if not line.startswith("#")]
POLICIES = ("preferred", "bind", "bind_all", "interleave")


@pytest.fixture(scope="module")
def witness(tmp_path_factory):
    made = tmp_path_factory.mktemp("witness") / "witness.so"
    words = ["cc", "-O1", "-shared", "-fPIC", "-I", INCLUDE, SUPPORT / "hbw_witness.c", "-o", made]
    subprocess.run(words, check=True)
    return made


def status(policy, witness, **env):
    """Returns the exit status of the test, with node 0, which each machine has, as the fast one."""
    given = {**os.environ, "MEMKIND_HBW_NODES": "0", "LD_PRELOAD": str(witness), **env}
    words = [BUILD / "tests" / "integration" / "hbw_calls", policy, "0"]
    return subprocess.run(words, env=given, stdin=subprocess.DEVNULL, capture_output=True, timeout=600).returncode


def test_exported_and_declared_functions_are_those_of_the_manual():
    library = BUILD / "src" / "agent" / "libterrace-hbw.so"
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    assert sorted(line.split()[-1] for line in shown.stdout.splitlines()) == sorted(MANUAL)
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / "hbwmalloc.h").read_text(), flags=re.DOTALL)
    assert sorted(re.findall(r"\b(hbw_\w+)\(", text)) == sorted(MANUAL)


@pytest.mark.soak
def test_each_function_is_called_under_the_policies(witness, tmp_path):
    counts = tmp_path / "counts"
    assert [status(policy, witness, HBW_COUNTS=str(counts)) for policy in POLICIES] == [0] * len(POLICIES)
    calls = Counter()
    for name, count in map(str.split, counts.read_text().splitlines()):
        calls[name] += int(count)
    assert [name for name in MANUAL if not calls[name]] == []


@pytest.mark.soak
@pytest.mark.parametrize("function", MANUAL)
def test_broken_function_is_seen(function, witness):
    assert status("preferred", witness, HBW_WRONG=function) != 0
