"""`terrace lab validate`: the fit, against virtual time itself; the file of cases; a run from end to end."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import workloads
from terrace.solve import core_times
from terrace.verbs.lab import validate

CASES = """
[[program]]
name = "adds"
calibrate = ["2000"]
measure = ["60000"]
"""
MACHINE = "unimem-lat4"
WORKLOADS = Path(__file__).resolve().parents[4] / "workloads"


def test_the_fit_gives_the_native_time_at_the_size_of_calibration(folders: tuple[Path, Path]) -> None:
    """Whatever the native time was: virtual time at that core time is that, to rounding."""
    case = validate.Case("adds", ["60000"], ["2000"])
    for native in (200e-6, 1e-3):
        fit = validate._fit(case, folders[1], MACHINE, native, {})
        assert {phase.rests_on for phase in fit.phases} == {"not run natively"}
        virtual = validate._virtual(case, ["2000"], 1, folders[1], MACHINE, fit)
        assert virtual.time == pytest.approx(native, rel=1e-3)


def test_the_fit_gives_each_phase_its_native_time(folders: tuple[Path, Path]) -> None:
    """At the size of calibration; at another one the family's pattern finds its phase."""
    case = validate.Case("adds", ["60000"], ["2000"])
    native = {"up.4": 30e-6, "again": 50e-6}
    fit = validate._fit(case, folders[1], MACHINE, 25 * sum(native.values()), native)
    assert [(phase.pattern, phase.rests_on) for phase in fit.phases] == [
        ("again", "phase"),
        ("up.[0-9]*", "phase"),
    ]
    virtual = validate._virtual(case, ["2000"], 1, folders[1], MACHINE, fit)
    assert core_times.medians([virtual.phases]) == pytest.approx(native, rel=1e-3)
    # Both phases do the same, so what is left between them is their core time.
    larger = core_times.medians([validate._virtual(case, ["60000"], 1, folders[1], MACHINE, fit).phases])
    assert larger["again"] - larger["up.5"] == pytest.approx(30 * (native["again"] - native["up.4"]), rel=1e-2)


def test_from_end_to_end(folders: tuple[Path, Path], terrace: Callable[..., object], tmp_path: Path) -> None:
    """The table, the document and the plot; the native times are this machine's, so only their relations hold."""
    cases, output, plot = tmp_path / "cases.toml", tmp_path / "out.json", tmp_path / "plot.html"
    cases.write_text(CASES)
    words = ["--native", folders[0], "--hooked", folders[1], "-m", MACHINE, "--repetitions", "2", "--threads", "1"]
    done = terrace("lab", "validate", cases, *words, "--json", output, "--plot", plot)
    document = json.loads(output.read_text())
    (row,) = document["rows"]
    assert row["workload"] == "adds" and row["native"] > 0 and row["core_time"] > 0
    assert [phase["pattern"] for phase in row["phases"]] == ["again", "up.[0-9]*"]
    for phase in row["phases"]:
        assert phase["native"] > 0
        assert phase["rests_on"] == "phase" or phase["core_time"] == row["core_time"]
    assert "fitted for" in str(getattr(done, "stdout"))  # noqa: B009
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
        validate.read_cases(tmp_path / "cases.toml")
    assert message in str(raised.value)


def test_the_workloads_are_cases() -> None:
    """Those that state what to measure, each with how it prints its time."""
    there = {case.name: case for case in validate.of_workloads(WORKLOADS)}
    assert there.keys() == {one.name for one in workloads.read_all(WORKLOADS).values() if one.has("measure")}
    assert len(there) >= 10
    stream = there["stream"]
    assert stream.measure == ["--size", "64MiB", "--repetitions", "6", "--threads", "{threads}"]
    assert stream.calibrate == ["--size", "96KiB", "--repetitions", "250"]
    assert validate._time(stream, "copy 1 2\nTime   0.25 s\n") == 0.25
    assert validate._time(there["cg"], " Time in seconds =  1.5\n") == 1.5


def test_a_program_that_is_not_there(terrace: Callable[..., object], tmp_path: Path) -> None:
    """Of the workloads, and of a file of cases."""
    (tmp_path / "cases.toml").write_text(CASES)
    words = ["lab", "validate", "--native", "n", "--hooked", "h", "-m", MACHINE, "--source", WORKLOADS.parent]
    for cases, where in (((), WORKLOADS), ((tmp_path / "cases.toml",), tmp_path / "cases.toml")):
        done = terrace(*words, *cases, "--only", "chase")
        assert getattr(done, "returncode") == 2  # noqa: B009
        assert f"{where}: there is no program 'chase' to validate" in str(getattr(done, "stderr"))  # noqa: B009


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
