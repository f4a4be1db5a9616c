# SPDX-License-Identifier: Apache-2.0
"""Systems that lack something, with programs of the distribution: as they run on a machine with one kind of
memory, and on one node that a machine file calls two kinds, so that pages are watched and moved.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE
from programs_lines.profiles import moves_of, was_watched

sys.path.insert(0, str(ROOT / "tests" / "support"))
from restricted import CONDITIONS, RestrictedError

pytestmark = pytest.mark.soak

_SQL = (
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
    "SELECT count(*), sum(length(printf('%064d', i))) FROM n; CREATE TABLE t AS SELECT 1; SELECT 5 / 0 IS NULL;"
)
_SOURCE = f"-I{ROOT}/src/foundation -c {ROOT}/src/foundation/core/plan.cpp"
PROGRAMS = {
    "sh": ["/bin/sh", "-c", "seq 100000 | sort -n | tail -1; exit 4"],
    "python3": ["/usr/bin/python3", "-c", "import sys; print(sum(bytearray(range(250)) * 40000)); sys.exit(3)"],
    "sqlite3": ["sqlite3", ":memory:", _SQL],
    "g++": ["/bin/sh", "-c", f"g++ -std=c++20 -O1 {_SOURCE} -o - -S | md5sum"],
    "sort": ["/bin/sh", "-c", "seq 300000 | rev | LC_ALL=C sort -S 60M | md5sum"],
}
# Two arrays, of which one fits into fast memory, read for as long as it takes to watch, plan and move.
SWEEPS = """import sys, time, zlib
a, b = bytearray(range(256)) * (24 << 12), bytearray(range(255, -1, -1)) * (24 << 12)
ends = time.monotonic() + 15
while time.monotonic() < ends:
    found = zlib.crc32(a) ^ b.count(7)
print(found)
sys.exit(6)"""
WATCHING = ["--machine", str(ROOT / "acceptance" / "programs_lines" / "same_node.toml"), "--fast", "28MiB"]
# Systems on which that program's pages are not watched: pages are read in /proc; the session takes files.
NOT_WATCHED = {"no /proc", "no /proc, no /sys", "small files", "no TMPDIR", "TMPDIR full", "TMPDIR read-only"}
# Systems on which no move is told: the kernel makes none; the journal has no space for them.
NOT_MOVED = {
    *("no placing, not permitted", "no placing, not built in", "nothing of all that"),
    *("TMPDIR of 64 KiB", "TMPDIR of 8 KiB"),
}
# How the lines begin that close a watched run on every system.
CLOSING = re.compile(
    r"terrace: (\d+ iterations? in |no main loop was seen|no access was seen|nothing was seen|gained |lost "
    r"|undone, |an iteration took )"
)


@pytest.fixture
def where():
    with tempfile.TemporaryDirectory(prefix="terrace-restricted-") as folder:
        Path(folder).chmod(0o777)  # any user may write a profile there
        yield Path(folder)


def compare(name, command, where, watching=()):
    """Checks that a run gives what it gives without Terrace, and at most one line more than closing ones."""

    def ended(*words):
        try:
            words = CONDITIONS[name](where, [*words, *command])
        except RestrictedError as why:
            pytest.skip(str(why))
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, cwd=where)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace").splitlines()

    plain = ended()
    status, output, lines = ended(str(TERRACE), "run", *watching, "--")
    said = [line for line in lines if line.startswith("terrace: ")]
    assert (status, output, [line for line in lines if line not in said]) == plain
    assert len([line for line in said if not (watching and CLOSING.match(line))]) <= 1, said


@pytest.mark.parametrize("watching", [[], WATCHING], ids=["plain", "watched"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", CONDITIONS)
def test_missing_facility_does_not_affect_the_program(name, program, watching, where):
    compare(name, PROGRAMS[program], where, watching)


@pytest.mark.parametrize("name", CONDITIONS)
def test_pages_are_watched_and_moved_where_that_can_be(name, where):
    assert set(CONDITIONS) > NOT_WATCHED | NOT_MOVED
    compare(name, ["/usr/bin/python3", "-c", SWEEPS], where, WATCHING)
    profiles = [one for one in where.glob("*.terrace") if was_watched(one)]
    assert profiles or name in NOT_WATCHED
    assert sum(map(moves_of, profiles)) > 0 or name in NOT_WATCHED | NOT_MOVED
