"""Programs that limit their own address space (RLIMIT_AS) get the same amount under `terrace run`."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from conftest import ROOT, TERRACE

SAME_NODE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"
MIB = 1 << 20
# Large data, then the limit, by the call that is named; then as much as there is.
PROGRAM = f"""
import resource, sys
before = bytearray(b"1") * (48 * {MIB})
limit = int(sys.argv[1]) * {MIB}
if sys.argv[2] == "setrlimit":
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
else:
    resource.prlimit(0, resource.RLIMIT_AS, (limit, limit))
blocks = []
try:
    while len(blocks) < 400:
        blocks.append(bytearray(b"2") * (8 * {MIB}))
except MemoryError:
    pass
count = len(blocks)
del blocks
print(count * 8, before.count(b"1") == len(before))
"""


# Uses the same data; then the soft limit that it was given becomes the hard one.
RAISES = f"""
import resource
before = bytearray(b"1") * (48 * {MIB})
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print(resource.getrlimit(resource.RLIMIT_AS)[0] == hard)
"""


def got(words: list[str | object], call: str) -> tuple[int, bool]:
    program = [sys.executable, "-c", PROGRAM, "600", call]
    done = subprocess.run([*map(str, words), *program], capture_output=True, text=True, timeout=300, check=True)
    amount, whole = done.stdout.split()
    return int(amount), whole == "True"


@pytest.mark.parametrize("call", ["setrlimit", "prlimit"])
@pytest.mark.parametrize("placed", [["--profile"], ["--machine", SAME_NODE, "--fast", "64MiB"]])
def test_own_limit_holds(tmp_path, placed, call):
    plain, _ = got([], call)
    ours, whole = got([TERRACE, "run", "-o", tmp_path / "kept.terrace", *placed, "--"], call)
    assert whole
    assert 0.8 * plain <= ours <= plain


def test_raised_limit_changes_nothing(tmp_path):
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 16 << 30))

    words = [TERRACE, "run", "--profile", "-o", tmp_path / "kept.terrace", "--", sys.executable, "-c", RAISES]
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=limited)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "limited its address space" not in done.stderr
