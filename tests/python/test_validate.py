"""`terrace lab validate`: the fit, against virtual time itself; the file of cases; a run from end to end."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from terrace import validate
from terrace.errors import TerraceError, WrongCallError

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(int argc, char** argv) {
  const long n = atol(argv[1]);
  volatile double* a = calloc(n, sizeof *a);
  for (long i = 0; i < n; ++i) a[i] = 1;
  const double begin = now();
  for (int k = 0; k < 50; ++k)
    for (long i = 0; i < n; ++i) a[i] += 1;
  printf("Time %.12f s\n", now() - begin);
  return a[argc] != 51;
}
"""
CASES = """
[[program]]
name = "adds"
calibrate = ["2000"]
measure = ["60000"]
"""
MACHINE = "unimem-lat4"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program natively and with hooks."""
    folder = tmp_path_factory.mktemp("validate")
    (folder / "adds.c").write_text(SOURCE)
    for name, compiler in (("native", "gcc"), ("hooked", str(Path(sys.executable).with_name("terrace-cc")))):
        (folder / name).mkdir()
        subprocess.run([compiler, "-O2", folder / "adds.c", "-o", folder / name / "adds"], check=True)
    return folder / "native", folder / "hooked"


def test_the_fit_gives_the_native_time_at_the_size_of_calibration(folders: tuple[Path, Path]) -> None:
    """Whatever the native time was: virtual time at that core time is that, to rounding."""
    case = validate.Case("adds", ["60000"], ["2000"])
    for native in (100e-6, 1e-3):
        core_time = validate._fit(case, folders[1], MACHINE, native)
        virtual = validate._virtual(case, ["2000"], 1, folders[1], MACHINE, core_time)
        assert virtual == pytest.approx(native, rel=1e-3)


def test_from_end_to_end(folders: tuple[Path, Path], terrace: Callable[..., object], tmp_path: Path) -> None:
    """The table, the document and the plot; the native times are this machine's, so only their relations hold."""
    cases, output, plot = tmp_path / "cases.toml", tmp_path / "out.json", tmp_path / "plot.html"
    cases.write_text(CASES)
    words = ["--native", folders[0], "--hooked", folders[1], "-m", MACHINE, "--repetitions", "2", "--threads", "1"]
    done = terrace("lab", "validate", cases, *words, "--json", output, "--plot", plot)
    document = json.loads(output.read_text())
    (row,) = document["rows"]
    assert row["workload"] == "adds" and row["native"] > 0 and row["core_time"] > 0
    assert row["error"] == pytest.approx(row["virtual"] / row["native"] - 1)
    assert document["mean_absolute_error"] == abs(row["error"]) == abs(document["largest"]["error"])
    assert "mean absolute error" in str(getattr(done, "stdout"))  # noqa: B009
    assert "less native time" in plot.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no [[program]] in it"),
        ('[[program]]\nname = "a"\n', "program 1 needs a name and what to measure"),
        ('[[program]]\nname = "a"\nmeasure = []\nwhat = 1\n', "program 1 has no use for 'what'"),
        ("[[program]", "Expected ']]'"),
    ],
)
def test_bad_files_of_cases(tmp_path: Path, text: str, message: str) -> None:
    """One line that says what is wrong."""
    (tmp_path / "cases.toml").write_text(text)
    with pytest.raises(WrongCallError) as raised:
        validate.read_cases(tmp_path / "cases.toml", [])
    assert message in str(raised.value)


def test_a_program_without_a_time(folders: tuple[Path, Path]) -> None:
    """Says what was looked for."""
    case = validate.Case("adds", ["2000"], None, time="Seconds: ([0-9.]+)")
    with pytest.raises(TerraceError, match="adds printed no time that looks like 'Seconds"):
        validate.compare([case], *folders, MACHINE, [1], 1)


@pytest.mark.parametrize("text", ["0", "1,,2", "x", "-1"])
def test_bad_numbers_of_threads(text: str) -> None:
    """Refused."""
    with pytest.raises(WrongCallError, match="--threads"):
        validate._numbers(text)
