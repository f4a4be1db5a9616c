"""Core times by function: fitted to a running program, and applied in virtual time."""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from terrace.lab import native, own_size
from terrace.lab.calibrating import Calibrated, Program
from terrace.lab.function_samples import Samples
from terrace.lab.own_size import NativeRuns, VirtualRun
from terrace.solve.calibration import Sample, Start
from terrace.solve.function_times import FunctionFits, Use

BIN = Path(sys.executable).parent

# Two functions of as many accesses, one of divisions that wait for one another, one of additions that do not. Each
# prints the time that the program's clock says it took.
TWO = r"""
#include <stdio.h>
#include <time.h>
static double a[512];
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
__attribute__((noinline)) static double divides(int n) {
  double x = 1;
  for (int k = 0; k < n; ++k) for (int i = 0; i < 512; ++i) x = a[i] / (x + 1.5);
  return x;
}
__attribute__((noinline)) static double adds(int n) {
  double x = 0;
  for (int k = 0; k < n; ++k) for (int i = 0; i < 512; ++i) x += a[i];
  return x;
}
int main(void) {
  for (int i = 0; i < 512; ++i) a[i] = i;
  const double begun = now();
  double x = divides(2000);
  const double between = now();
  x += adds(2000);
  const double ended = now();
  printf("divides %.9f adds %.9f\n", between - begun, ended - between);
  return x < 0;
}
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    (folder / "two.c").write_text(TWO)
    for name, compiler in (("two.native", "gcc"), ("two", str(BIN / "terrace-cc"))):
        subprocess.run([compiler, "-O2", folder / "two.c", "-o", folder / name], check=True)
    return folder / "two"


def took(two: Path, *options: str) -> dict[str, float]:
    words: list[str | Path] = [
        BIN / "terrace",
        "simulate",
        "--quiet",
        "--machine",
        "unimem-lat4",
        "--planner",
        "slow-only",
    ]
    words += ["--phases", "markers"]  # an iteration of a loop that is found has a price of its own
    words += ["--output", two.parent / "store.terrace", *options, "--", two]
    (two.parent / "store.terrace").unlink(missing_ok=True)
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return {name: float(time) for name, time in re.findall(r"(\w+) ([0-9.]+)", said)}


def test_core_time_file_applies_to_functions(two: Path, tmp_path: Path) -> None:
    """Five times the program's core time for one function, half of it for another; reproducible to the
    last digit.
    """
    times = tmp_path / "core-times"
    times.write_text("# by hand\n100ps\ndivides()=500ps\nadds()=50ps\n")
    once, of_functions = took(two, "--core-time=100ps"), took(two, f"--core-time=@{times}")
    assert of_functions["divides"] == pytest.approx(5 * once["divides"], rel=0.02)
    assert of_functions["adds"] == pytest.approx(0.5 * once["adds"], rel=0.02)
    assert took(two, f"--core-time=@{times}") == of_functions
    assert took(two, "--core-time=100ps", "--core-time=none()=1ns") == once


def test_replay_refuses_function_core_times(two: Path, tmp_path: Path) -> None:
    """A recording does not identify functions."""
    took(two, "--misses", str(tmp_path / "misses"))
    words: list[str | Path] = [BIN / "terrace", "replay", tmp_path / "misses", "--core-time=f()=1ns"]
    said = subprocess.run(words, capture_output=True, text=True)
    assert said.returncode == 2
    assert "--core-time f(): a recording does not attribute misses to functions" in said.stderr


def test_calibrate_fits_functions_at_own_size(two: Path) -> None:
    """Dependent divisions take far longer than additions; the ratio is not checked."""
    words: list[str | Path] = [
        BIN / "terrace",
        "lab",
        "calibrate",
        "--calibrate-on",
        "unimem-lat4",
        "-o",
        two.parent / "fitted",
        "--",
        two,
    ]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    if not said.startswith("calibrated"):
        pytest.skip(said)  # a machine that is too busy, and says so
    lines = (two.parent / "fitted").read_text().splitlines()
    assert lines[0].startswith("# ") and lines[1].endswith("ps")
    if "without a division by function" in said:
        pytest.skip(said)  # the kernel does not sample
    assert any(line.startswith("divides()=") for line in lines)
    fitted = took(two, f"--core-time=@{two.parent / 'fitted'}")
    assert fitted["divides"] > 2 * fitted["adds"]


def test_simulate_calibrates_before_the_run(two: Path, tmp_path: Path) -> None:
    """Uses the program's own arguments; the profile contains each function's core time."""
    store = tmp_path / "store.terrace"
    words: list[str | Path] = [BIN / "terrace", "simulate", "--machine", "unimem-lat4", "--output", store]
    done = subprocess.run([*words, "--native", f"{two}.native", "--", two, "size"], capture_output=True, text=True)
    assert done.returncode == 0 and "calibrated: " in done.stderr, done.stderr
    with sqlite3.connect(store) as database:
        names = {name for (name,) in database.execute("SELECT phase FROM core_time")}
        (why,) = database.execute("SELECT core_time_from FROM run").fetchone()
    assert f"'size' of {two}.native" in why
    if "functions fitted separately" in why and not done.stderr.startswith("terrace: not"):
        assert "divides()" in names


# --- what is refused ---------------------------------------------------------------------------------------------

DOCUMENT = {
    "line": 64,
    "initiators": [
        {"name": "c", "mlp": 10, "prefetch_mlp": 20, "frequency": 1e9, "tlb": None, "caches": [{"latency": 1e-9}]}
    ],
    "places": [{"name": "p", "capacity": 1}],
    "paths": [{"initiator": "c", "place": "p", "read": 1e10, "write": 1e10, "latency": 1e-7}],
}
USES = {"f": Use(1e8, 0, 0, 0, 0, 0, 0, (0, 0, 0, 0)), "g": Use(1e8, 0, 0, 0, 0, 0, 0, (0, 0, 0, 0))}


def natively(times: list[float], lines: int = 1) -> NativeRuns:
    """Returns runs with three quarters of the time in f and one in g."""
    found = NativeRuns(lines=lines, count=1000.0)
    found.plain = [Sample(time * 1.01, time, time) for time in times]
    found.sampled = [Sample(time * 1.01, time + 1e-3, time) for time in times]  # a shell's start before each
    whole = sum(times)
    found.time.update({"f": 0.75 * whole, "g": 0.25 * whole})
    return found


def judged(runs: NativeRuns, lines: int = 1) -> Calibrated[FunctionFits]:
    return own_size.judge(runs, VirtualRun(USES, lines), DOCUMENT, Start(1e-3, 1e-3))


def test_judge_fits_functions_by_samples() -> None:
    found = judged(natively([0.1] * 9))
    assert found.constant.core_time == pytest.approx(0.1 / 2e8)
    assert found.fits is not None
    assert {one.name: one.core_time for one in found.fits.functions} == pytest.approx({"f": 75e-11, "g": 25e-11})
    assert "2 functions fitted separately" in found.constant.why


def test_judge_short_runs_ask_for_larger_size() -> None:
    found = judged(natively([0.5e-3] * 9))
    assert found.fits is None and not found.options()
    assert found.constant.why.startswith("too short: its own code takes 500us per run")
    assert "--calibrate" in found.constant.why


def test_judge_different_output_refused() -> None:
    found = judged(natively([0.1] * 9, lines=3), lines=4)
    assert found.fits is None and "prints 3 lines and the instrumented one 4" in found.constant.why


def test_judge_noise_refused() -> None:
    found = judged(natively([0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1]))
    assert found.fits is None and found.constant.why.startswith("too noisy")


def test_judge_without_samples_fits_one_core_time() -> None:
    runs = natively([0.1] * 9)
    runs.sampled, runs.count, runs.why_not_sampled = [], 0.0, "perf_event_open: Permission denied"
    runs.time.clear()
    found = judged(runs)
    assert found.fits is not None and not found.fits.functions
    assert found.constant.core_time == pytest.approx(0.099 / 2e8)
    assert "without a division by function (perf_event_open: Permission denied)" in found.constant.why


def test_judge_states_reason_of_the_kernel(monkeypatch: pytest.MonkeyPatch, two: Path) -> None:
    """The program runs nevertheless, and is not left stopped."""

    def refuse(*_: object) -> Samples:
        raise OSError(13, "perf_event_open: Permission denied")

    monkeypatch.setattr(native, "Sampler", refuse)
    program = Program("two", [f"{two}.native"], [two])
    found = own_size.run_natively(program)
    assert "Permission denied" in found.why_not_sampled and len(found.plain) >= own_size.MIN_RUNS
