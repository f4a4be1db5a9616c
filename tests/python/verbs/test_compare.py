"""`terrace compare`: the programs that it runs, the number of runs, and its output."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SLOWER_WITH = 'sleep 0.1; test -z "$TERRACE_SESSION" || sleep 0.6'
PLACES = ("--memory", "64MiB")  # then Terrace has something to do, whatever the program is
SLOWER_WITHOUT = 'sleep 0.1; test -n "$TERRACE_SESSION" || sleep 0.6'


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Runs in a new folder, which must stay empty."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield
    assert list((tmp_path / "here").iterdir()) == []


def _compared(terrace, *words: object) -> dict[str, object]:
    done = terrace("compare", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_program_that_waits_in_one_variant_loses_there(terrace):
    """Known at the first look, which has half of the error probability."""
    lost = _compared(terrace, "--", "sh", "-c", SLOWER_WITH)
    assert (lost["pairs"], lost["known"], lost["beyond_noise"]) == (7, True, True)
    assert lost["gain"] < lost["high"] < 0
    gained = _compared(terrace, "--", "sh", "-c", SLOWER_WITHOUT)
    assert gained["beyond_noise"]
    assert 0 < gained["low"] <= gained["gain"] <= gained["high"] < 1
    assert len(gained["with"]["times_s"]) == len(gained["without"]["times_s"]) == gained["pairs"]


def test_text_agrees_with_the_document(terrace):
    done = terrace("compare", "--pairs", 6, *PLACES, "--", "sh", "-c", SLOWER_WITH)
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:3]}
    assert float(rows["with"][0]) > float(rows["without"][0]) + 0.3
    assert any(line.startswith("took ") for line in done.stdout.splitlines())
    assert " times as long (" in done.stdout
    assert "with 95 % confidence, 6 pairs of runs" in done.stdout


def test_pairs_runs_the_given_number(terrace, tmp_path):
    """Runs are interleaved, and the first of a pair alternates."""
    log = tmp_path / "log"
    program = f'test -n "$TERRACE_SESSION" && echo with >> {log} || echo without >> {log}'
    found = _compared(terrace, "--pairs", 3, "--", "sh", "-c", program)
    assert found["low"] is found["high"] is found["known"] is None
    assert log.read_text().split() == ["with", "without", "without", "with", "with", "without"]
    done = terrace("compare", "--pairs", 1, *PLACES, "--", "true")
    assert "in 1 pair of runs: too few for a confidence interval" in done.stdout


def test_minutes_limit_is_kept(terrace):
    found = _compared(terrace, "--minutes", 0, "--", "true")
    assert found["pairs"] == 1
    assert found["known"] is False


def test_options_of_run_are_passed_and_the_program_keeps_its_own(terrace):
    """Including options that both have, after the program's name."""
    found = _compared(
        terrace, "--pairs", 1, "--memory", "64MiB", "--", "sh", "-c", "exit $1", "--", 0, "--pairs", 9
    )
    assert found["pairs"] == 1
    assert found["with"]["accounts"][0]["over_file"]["limited"]


def test_outputs_are_compared(terrace):
    """Unless the program's own output varies between runs."""
    assert _compared(terrace, "--pairs", 2, "--", "echo", "same")["same_output"] is True
    other = ("--pairs", 2, "--", "sh", "-c", 'echo "${TERRACE_SESSION:+other}"')
    assert _compared(terrace, *other)["same_output"] is False
    said = terrace("compare", *other).stderr
    assert "standard output differs in 2 of 2 runs with Terrace, and in none of 2 without" in said
    assert _compared(terrace, "--pairs", 2, "--", "sh", "-c", "echo $$")["same_output"] is None
    # One run without cannot tell, and bytes that are no text count.
    assert _compared(terrace, "--pairs", 1, *other[2:])["same_output"] is None
    octets = 'test -n "$TERRACE_SESSION" && printf "\\200" || printf "\\201"'
    assert _compared(terrace, "--pairs", 2, "--", "sh", "-c", octets)["same_output"] is False


@pytest.mark.parametrize("option", [("--memory", "64MiB"), ("--intent", "capacity"), ("--fast", "1GiB"), ()])
def test_each_mode_of_run_can_be_compared(terrace, option):
    found = _compared(terrace, "--pairs", 1, *option, "--", "true")
    assert len(found["with"]["accounts"]) == 1


def test_programs_standard_error_is_not_mistaken_for_the_report(terrace):
    """Even if it looks like the report, or ends without newline."""
    for program in ("echo '{\"schema\": oops' >&2", "printf open >&2", 'echo "{"schema": 1}" >&2; printf x >&2'):
        found = _compared(terrace, "--pairs", 1, "--", "sh", "-c", program)
        assert found["with"]["accounts"][0]["file"] is None
        assert found["notes"] == []


def test_failure_in_the_middle_keeps_results(terrace, tmp_path):
    count = tmp_path / "count"
    done = terrace("compare", *PLACES, "--", "sh", "-c", f"echo >> {count}; test $(wc -l < {count}) -lt 4")
    assert done.returncode == 1
    assert "in 1 pair of runs" in done.stdout
    assert "(run 2" in done.stderr


def test_equal_variants_are_refused(terrace, monkeypatch):
    for name in ("TERRACE", "TERRACE_SESSION"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "off")
            done = terrace("compare", "--pairs", 1, "--", "true")
            assert done.returncode == 2
            assert f"{name} is set" in done.stderr


def test_nothing_to_place_is_reported(terrace):
    done = terrace("compare", "--pairs", 6, "--", "sh", "-c", SLOWER_WITH)
    assert done.stderr.startswith("terrace: Terrace found nothing to place in this program: ")
    assert "times" not in done.stdout and "certainty" not in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["without", "with"]
    memory = ("--pairs", 1, "--memory", "64MiB", "--", "true")
    assert "Terrace found nothing to place" not in terrace("compare", *memory).stderr


def test_each_run_has_fresh_input_and_files(terrace, tmp_path):
    files, text = tmp_path / "files", tmp_path / "text"
    files.mkdir()
    (files / "data").write_text("data")
    text.write_text("text")
    program = 'test "$(cat)$(cat data)" = textdata && rm data'
    _compared(terrace, "--pairs", 2, "--stdin", text, "--in", files, "--", "sh", "-c", program)
    assert (files / "data").exists()


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("true",), 2, "put -- before the program"),
        (("--",), 2, "the program after -- is missing"),
        (("sh", "--", "true"), 2, "'sh' precedes --"),
        (("--pairs", "0", "--", "true"), 2, "'--pairs'"),
        (("--pairs", "1024", "--", "true"), 2, "'--pairs'"),
        (("--status", "256", "--", "true"), 2, "'--status'"),
        (("-ox", "--", "true"), 2, "-ox is valid for terrace run"),
        (("--memory", "--", "true"), 2, "--memory"),
        (("--intent", "nonsense", "--", "true"), 2, "nonsense"),
        (("--input-dir", "nowhere", "--", "true"), 2, "'--input-dir'"),
        (("-o", "x", "--", "true"), 2, "-o is valid for terrace run"),
        (("--output=x", "--", "true"), 2, "--output=x is valid for terrace run"),
        (
            ("--nonsense", "--", "true"),
            2,
            "unknown option --nonsense; see terrace run --help and terrace compare --help",
        ),
        (("--memory", "1MiB", "--", "true"), 2, "--memory 1MiB"),
        # The program itself ends with what refused options end with.
        (("--status", "2", "--nonsense", "--", "sh", "-c", "exit 2"), 2, "unknown option --nonsense"),
        (("--", "./nothing"), 127, "cannot start ./nothing"),
        (
            ("--status", "0", "--", "sh", "-c", "echo why >&2; exit 3"),
            1,
            "ended with 3: why (run 1, without Terrace as well as",
        ),
        (("--", "sh", "-c", 'test -z "$TERRACE_SESSION"'), 1, "with Terrace, the program ended with 1"),
        (
            ("--", "sh", "-c", 'test -n "$TERRACE_SESSION" || kill -9 $$'),
            1,
            "without Terrace, the program ended by",
        ),
        (("--stdin", "nowhere", "--", "true"), 2, "'--stdin'"),
    ],
)
def test_impossible_comparison_is_one_line(terrace, words, status, says):
    done = terrace("compare", *words)
    assert done.returncode == status
    assert done.stdout == ""
    assert done.stderr.startswith("terrace: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr


def test_expected_status_is_not_a_failure(terrace):
    assert _compared(terrace, "--pairs", 1, "--status", 3, "--", "sh", "-c", "exit 3")["pairs"] == 1


def test_equal_status_of_both_variants_is_expected(terrace):
    done = terrace("compare", "--pairs", 1, "--json", "--", "sh", "-c", "exit 3")
    assert done.returncode == 0
    assert json.loads(done.stdout)["pairs"] == 1
    assert done.stderr.splitlines()[0].endswith(
        "the program ends with 3 with and without Terrace: using it as the expected exit status"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_prints_results_and_leaves_no_process(tmp_path, number):
    """In the third run, which completes no pair."""
    count, child = tmp_path / "count", tmp_path / "child"
    program = f"echo >> {count}; test $(wc -l < {count}) -lt 3 || {{ echo $$ > {child}; exec sleep 100; }}"
    command = [sys.executable, "-P", "-m", "terrace", "compare", "--json", "--", "sh", "-c", program]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    while not (child.exists() and child.read_text().strip()):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    out, _ = running.communicate(timeout=300)
    assert running.returncode == 128 + number
    assert json.loads(out)["pairs"] == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(child.read_text()), 0)
    assert not list(Path(os.environ.get("TMPDIR", "/tmp")).glob(f"terrace-compare-*/{child.name}"))


def test_predicted_gain_equals_paging_waits(terrace):
    """Three sweeps over twice the memory: whole chunks are read from the file."""
    sweep = "x = bytearray(128 << 20)\nfor _ in range(3):\n    x[::4096] = bytes(32768)"
    words = ("--pairs", 2, "--memory", "64MiB", "--spill", "/var/tmp", "--", sys.executable, "-c", sweep)
    found = _compared(terrace, *words)
    shown = " ".join(terrace("compare", *words).stdout.split())
    assert re.search(r"a run read \S+B and wrote \S+B, and its threads waited \S+ for that", shown)
    shares = []
    for seconds, account in zip(found["with"]["times_s"], found["with"]["accounts"], strict=True):
        longer = account["over_file"]["longer_s"]
        assert 0 < longer <= account["over_file"]["threads_waited_s"] + 1e-6
        shares.append(seconds / (seconds - longer) - 1)
    assert found["predicted_gain"] == pytest.approx(-sum(shares) / 2)
    assert _compared(terrace, "--pairs", 1, "--", "true")["predicted_gain"] is None
