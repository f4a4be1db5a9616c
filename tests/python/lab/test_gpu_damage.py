"""Traces that are truncated, damaged, or made of arbitrary bytes: `terrace lab gpu` on each."""

import contextlib
import io
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_placement_lines import traces
from terrace import _core, cli

PROCESSES = 40  # cases that run in a process of their own, too
RANDOM = 3000  # changes of bytes of a text
# Messages for a readable trace whose addresses or numbers were changed so that the call is invalid.
OTHER = ("is in no allocation", "than an SM has", "allocations of more than")

pytestmark = pytest.mark.soak


def said(words):
    """Exit status and messages in this process: one for each of ten thousand files would take an hour."""
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


def verdict(folder, words, own_process):
    """Returns the outcome of a file; in some cases a process of its own must print the same."""
    status, text = said(words)
    if own_process:
        line = [sys.executable, "-P", "-m", "terrace", "lab", "gpu", *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stderr) == (status, text)
    if status == 0 and not text:
        return "read"
    assert text.count("\n") == 1 and text.removesuffix("\n").isprintable(), text
    if status == 1 and str(folder) in text and re.search(r", byte \d+: ", text):
        return "refused"
    assert status == 2 and any(each in text for each in OTHER), (status, text)
    return "wrong call"


def test_warps_cut_or_changed_at_any_byte_are_refused(tmp_path):
    path, dice = tmp_path / "damaged.warps", random.Random(1)
    _core.write_warps("needle", "test", str(path))  # the smallest trace
    whole = path.read_bytes()
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << dice.randrange(8)
        for damaged in (whole[:at], changed):
            path.write_bytes(damaged)
            assert verdict(tmp_path, [str(path)], at % (len(whole) // PROCESSES) == 0) == "refused", at


def test_texts_cut_or_changed_are_refused_or_read(tmp_path):
    trace = traces.stream(tmp_path, 2)
    words, found = [trace, "--allocations", traces.side_file(trace)], set()
    files = [Path(trace).with_name(name) for name in ("kernel-1.traceg", "kernelslist.g", "allocations")]
    whole = {path: path.read_bytes() for path in files}
    for path in files:
        ends = [line.end() for line in re.finditer(b"\n", whole[path])]
        for end in [0, *ends[:-1]]:
            path.write_bytes(whole[path][:end])
            # A side file that ends early is one of fewer allocations.
            assert verdict(tmp_path, words, False) == "refused" or path.name == "allocations", (path, end)
        path.write_bytes(whole[path])
    dice = random.Random(1)
    for number in range(RANDOM):
        path = dice.choice(files)
        damaged = bytearray(whole[path])
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(damaged))
            damaged[at] = dice.randrange(256) if dice.random() < 0.5 else dice.choice(whole[path])
        path.write_bytes(damaged)
        found.add(verdict(tmp_path, words, number % (RANDOM // PROCESSES) == 0))
        path.write_bytes(whole[path])
    assert "refused" in found
