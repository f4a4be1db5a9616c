"""The runner of the fuzzers, with programs in their place: which runs hold, and which fall short."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "acceptance"))

import fuzzing  # noqa: E402

SAYS = (
    "echo '#9 DONE cov: 42 ft: 1'; echo 'Done 9 runs in {seconds} second(s)'; "
    "echo 'stat::number_of_executed_units: 9'"
)


def fuzzed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> fuzzing.Measured:
    """Returns the result of a fuzzer that is this shell script."""
    program = tmp_path / "bin" / "toy_fuzz"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setattr(fuzzing, "SETTINGS", Namespace(fuzz_seconds=1))
    fuzzing.write_corpus(tmp_path / "toy_fuzz", [b"a", b"b"])
    return fuzzing.fuzz(program.parent, tmp_path, {"toy_fuzz": ["-max_len=9"]})


def test_fuzz_full_time_without_crash_holds(tmp_path, monkeypatch):
    found = fuzzed(tmp_path, monkeypatch, f"ls corpus; echo $@; {SAYS.format(seconds=fuzzing.GOAL_SECONDS)}")
    assert found.holds
    assert found.text == f"toy_fuzz: 9 inputs in {fuzzing.GOAL_SECONDS} s, 42 points reached, 0 crashes"
    log = (tmp_path / "toy_fuzz" / "log").read_text()
    assert log.startswith("seed0\nseed1\n-max_total_time=1 ")
    assert f"{tmp_path}/toy_fuzz/corpus -max_len=9\n" in log


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SAYS.format(seconds=5), "in 5 s"),
        (f"touch found-x; {SAYS.format(seconds=600)}", "1 crashes"),
        ("echo 'ERROR: libFuzzer'; exit 77", "status 77: ERROR: libFuzzer"),
    ],
)
def test_fuzz_short_or_crashed_run_falls_short(tmp_path, monkeypatch, text, told):
    found = fuzzed(tmp_path, monkeypatch, text)
    assert not found.holds
    assert told in found.text
