"""Traces that are truncated, damaged, or made of arbitrary bytes: `terrace lab gpu` on each."""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
from collections import Counter
from pathlib import Path

from harness import TERRACE, Line, Measured, fresh, run
from terrace import _core, cli

from gpu_placement_lines import traces

PROGRAM = "needle"  # the smallest trace
PROCESSES = 40  # cases that run in a process of their own, too
SEED = 1
RANDOM = 3000  # changes of bytes of a text
# Messages for a readable trace whose addresses or numbers were changed so that the call is invalid.
OTHER = ("is in no allocation", "than an SM has", "allocations of more than")


# --- what the command line says ----------------------------------------------------------------------------------


def _said(*words: str) -> tuple[int, str]:
    """Runs `terrace lab gpu` in this process; returns its status and its messages. A process for each of ten
    thousand files would take an hour."""
    before, error = sys.argv, io.StringIO()
    sys.argv = ["terrace", "lab", "gpu", *words]
    try:
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
            cli.main()
    except SystemExit as ended:
        return int(ended.code or 0), error.getvalue()
    finally:
        sys.argv = before
    return 0, error.getvalue()


class _Cases:
    """Counts the outcomes of damaged files."""

    def __init__(self, folder: Path, every: int) -> None:
        self.folder = folder
        self.every = every  # one of so many cases also runs in a process of its own
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def give(self, what: str, *words: str, may_be_read: bool) -> None:
        """Runs one call; a few are repeated in a process of its own, which must print the same messages."""
        status, said = _said(*words)
        verdict = self._verdict(status, said)
        self.counts[verdict] += 1
        if verdict == "wrong" or (verdict != "refused" and not may_be_read):
            self.wrong.append(f"{what}: {status}, {said.strip()[:200]!r}")
        if sum(self.counts.values()) % self.every == 0:
            done = run([TERRACE, "lab", "gpu", *words], check=False)
            self.counts["by a process"] += 1
            if (done.returncode, done.stderr) != (status, said):
                self.wrong.append(f"{what}: a process ends with {done.returncode}, {done.stderr.strip()[:200]!r}")

    def _verdict(self, status: int, said: str) -> str:
        if status == 0 and not said:
            return "read"
        if said.count("\n") != 1 or not said.removesuffix("\n").isprintable():
            return "wrong"
        if status == 1 and str(self.folder) in said and re.search(r", byte \d+: ", said):
            return "refused"
        return "wrong call" if status == 2 and any(each in said for each in OTHER) else "wrong"

    def measured(self, *lines: str) -> Measured:
        """Returns the result, which holds if no case was wrong."""
        counts = ", ".join(f"{verdict} {count}" for verdict, count in sorted(self.counts.items()))
        holds = not self.wrong and self.counts["refused"] > 0
        return Measured("\n".join([*lines, counts, *self.wrong[:5]]), holds)


def warps() -> Measured:
    """Truncates a program's trace at every byte, and flips a bit in every byte."""
    folder = fresh("damaged")
    path = folder / "damaged.warps"
    _core.write_warps(PROGRAM, "test", str(path))
    whole = path.read_bytes()
    cases = _Cases(folder, 2 * len(whole) // PROCESSES)
    dice = random.Random(SEED)
    for at in range(len(whole)):
        path.write_bytes(whole[:at])
        cases.give(f"cut off at {at}", str(path), may_be_read=False)
        damaged = bytearray(whole)
        damaged[at] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        cases.give(f"a bit of byte {at}", str(path), may_be_read=False)
    return cases.measured(f"{PROGRAM} in {len(whole)} bytes: each cut off there, and each with a bit turned")


def texts() -> Measured:
    """Truncates an Accel-Sim trace behind each line of each file, and changes bytes at random."""
    folder = fresh("damaged-text")
    trace = traces.stream(folder, 2)
    side = traces.side_file(trace)
    files = [Path(trace).with_name(name) for name in ("kernel-1.traceg", "kernelslist.g", "allocations")]
    whole = {path: path.read_bytes() for path in files}
    cases = _Cases(folder, RANDOM // PROCESSES)
    words = (trace, "--allocations", side)
    for path in files:
        ends = [found.end() for found in re.finditer(b"\n", whole[path])]
        for end in [0, *ends[:-1]]:
            path.write_bytes(whole[path][:end])
            # A side file that ends early is one of fewer allocations.
            cases.give(f"{path.name} cut off at {end}", *words, may_be_read=path.name == "allocations")
        path.write_bytes(whole[path])
    dice = random.Random(SEED)
    for _ in range(RANDOM):
        path = dice.choice(files)
        damaged = bytearray(whole[path])
        for _change in range(dice.randint(1, 3)):
            at = dice.randrange(len(damaged))
            damaged[at] = dice.randrange(256) if dice.random() < 0.5 else dice.choice(whole[path])
        path.write_bytes(damaged)
        cases.give(f"{path.name} with {bytes(damaged)[:60]!r}", *words, may_be_read=True)
        path.write_bytes(whole[path])
    return cases.measured(f"{sum(len(text) for text in whole.values())} bytes in {len(files)} files")


LINES = [
    Line(
        "damaged traces",
        "a trace of warps cut off at every byte, a bit turned in every byte: one line with file and byte, exit 1",
        warps,
    ),
    Line(
        "damaged Accel-Sim traces",
        f"cut off behind every line: one line with file and byte, exit 1; {RANDOM} times random bytes: that, or "
        "read, or one line that an address or a number is wrong, exit 2",
        texts,
    ),
]
