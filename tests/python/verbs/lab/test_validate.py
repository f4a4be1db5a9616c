"""`terrace lab validate`: the fit compared with virtual time, the file of cases, and a complete run."""

import json
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import calibrating, validation, workloads
from terrace.lab.validation import Constants
from terrace.solve import core_times
from terrace.solve.calibration import Sample, Start, Virtual
from terrace.solve.core_times import PhaseFits
from terrace.verbs.lab import validate

CASES = """
[[program]]
name = "adds"
calibrate = ["2000"]
measure = ["60000"]
"""
MACHINE = "unimem-lat4"
WORKLOADS = Path(__file__).resolve().parents[4] / "workloads"


def fitted(hooked: Path, native: float, phases: dict[str, float]) -> PhaseFits:
    """Fits like calibration, with given native times."""
    words = [hooked / "adds", "2000"]
    without, with_probe = (
        calibrating.under_terrace("simulate", words, calibrating.TIME, MACHINE, PhaseFits(core_time).options())
        for core_time in (core_times.MIN, calibrating.PROBE)
    )
    least, most = without.time.printed, with_probe.time.printed
    assert least is not None and most is not None
    program = core_times.of_program(native, least, most, calibrating.PROBE)
    return calibrating.fit(program, phases, without, with_probe)


def taken(hooked: Path, size: str, fit: PhaseFits) -> calibrating.RunTimes:
    """Returns the virtual time with a fit."""
    return calibrating.under_terrace("simulate", [hooked / "adds", size], calibrating.TIME, MACHINE, fit.options())


def test_fit_reproduces_the_native_time(folders: tuple[Path, Path]) -> None:
    """For any native time, virtual time with the fitted core time equals it up to rounding."""
    for native in (200e-6, 1e-3):
        fit = fitted(folders[1], native, {"other": 1.0})
        assert {phase.rests_on for phase in fit.phases} == {"not run natively"}
        assert taken(folders[1], "2000", fit).time.printed == pytest.approx(native, rel=1e-3)
    assert fitted(folders[1], 1e-3, {}).phases == []


def test_fit_reproduces_each_phases_native_time(folders: tuple[Path, Path]) -> None:
    """At the size of calibration; at another one the family's pattern finds its phase."""
    native = {"up.4": 30e-6, "again": 50e-6}
    fit = fitted(folders[1], 25 * sum(native.values()), native)
    assert [(phase.pattern, phase.rests_on) for phase in fit.phases] == [
        ("again", "phase"),
        ("up.[0-9]*", "phase"),
    ]
    assert core_times.medians([taken(folders[1], "2000", fit).phases]) == pytest.approx(native, rel=1e-3)
    # Both phases do the same, so what is left between them is their core time.
    larger = core_times.medians([taken(folders[1], "60000", fit).phases])
    assert larger["again"] - larger["up.5"] == pytest.approx(30 * (native["again"] - native["up.4"]), rel=1e-2)


def test_complete_run_writes_table_document_and_plot(
    folders: tuple[Path, Path], terrace: Callable[..., object], tmp_path: Path
) -> None:
    """The table, the document and the plot; the native times are this machine's, so only their relations hold."""
    cases, output, plot = tmp_path / "cases.toml", tmp_path / "out.json", tmp_path / "plot.html"
    cases.write_text(CASES)
    words = ["--native", folders[0], "--hooked", folders[1], "-m", MACHINE, "--repetitions", "2", "--threads", "1"]
    done = terrace("lab", "validate", cases, *words, "--json", output, "--plot", plot)
    document = json.loads(output.read_text())
    (row,) = document["rows"]
    assert row["workload"] == "adds" and row["native"] > 0
    assert row["clock"] in ("printed", "process")  # the latter where others had the processor in most runs
    constant = document["constants"]["adds"]
    said, page = str(getattr(done, "stdout")), plot.read_text()  # noqa: B009
    assert constant["why"] in said and escape(constant["why"]) in page
    if constant["from"] == "calibrated":
        assert row["core_time"] == constant["core_time"] > 0
        assert [phase["pattern"] for phase in constant["phases"]] == ["again", "up.[0-9]*"]
        for phase in constant["phases"]:
            assert phase["native"] > 0
            assert phase["rests_on"] == "phase" or phase["core_time"] == row["core_time"]
        assert "fitted for" in said
    else:  # the machine that tests run on was too busy
        assert row["core_time"] is None and constant["phases"] == []
    assert row["error"] == pytest.approx(row["virtual"] / row["native"] - 1)
    assert document["mean_absolute_error"] == abs(row["error"]) == abs(document["largest"]["error"])
    assert "mean absolute error" in str(getattr(done, "stdout"))  # noqa: B009
    assert "less native time" in plot.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it contains no [[program]]"),
        ('[[program]]\nname = "a"\n', "program 1 requires the keys name and measure"),
        ('[[program]]\nname = "a"\nmeasure = []\nwhat = 1\n', "program 1 has the unknown key 'what'"),
        ("[[program]", "Expected ']]'"),
    ],
)
def test_invalid_files_of_cases_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """One line states the error."""
    (tmp_path / "cases.toml").write_text(text)
    with pytest.raises(WrongCallError) as raised:
        validate.read_cases(tmp_path / "cases.toml")
    assert message in str(raised.value)


def test_workloads_are_cases() -> None:
    """Those that state what to measure, with the pattern of their printed time."""
    there = {case.name: case for case in validate.of_workloads(WORKLOADS)}
    assert there.keys() == {one.name for one in workloads.read_all(WORKLOADS).values() if one.has("measure")}
    assert len(there) >= 10
    stream = there["stream"]
    assert stream.measure == ["--size", "64MiB", "--repetitions", "6", "--threads", "{threads}"]
    assert stream.calibrate == ["--size", "96KiB", "--repetitions", "250"]
    assert validate._time(stream, "copy 1 2\nTime   0.25 s\n") == "0.25"
    assert validate._time(there["cg"], " Time in seconds =  1.5\n") == "1.5"


def test_missing_program_is_reported(terrace: Callable[..., object], tmp_path: Path) -> None:
    """For workloads, and for a file of cases."""
    (tmp_path / "cases.toml").write_text(CASES)
    words = ["lab", "validate", "--native", "n", "--hooked", "h", "-m", MACHINE, "--source", WORKLOADS.parent]
    for cases, where in (((), WORKLOADS), ((tmp_path / "cases.toml",), tmp_path / "cases.toml")):
        done = terrace(*words, *cases, "--only", "chase")
        assert getattr(done, "returncode") == 2  # noqa: B009
        assert f"--only chase: {where} has no program of that name" in str(getattr(done, "stderr"))  # noqa: B009


def test_program_without_printed_time_is_refused(folders: tuple[Path, Path]) -> None:
    """The message contains the pattern."""
    case = validate.Case("adds", ["2000"], None, time="Seconds: ([0-9.]+)")
    with pytest.raises(TerraceError, match="adds printed no time that looks like 'Seconds"):
        validate.compare([case], *folders, MACHINE, [1], 1, {"adds": Constants(1e-10, None)})


@pytest.mark.parametrize("text", ["0", "1,,2", "x", "-1"])
def test_invalid_thread_counts_are_refused(text: str) -> None:
    """Each is a wrong call."""
    with pytest.raises(WrongCallError, match="--threads"):
        validate._numbers(text)


def test_coarse_print_is_not_compared() -> None:
    """The whole process is compared instead; by wall clock with several threads."""
    samples = [Sample(0.6, 0.5, 0.4, printed="0.20")] * 3
    virtual = Virtual(0.44, 0.2)
    row = validation.row("x", 1, samples, virtual, None, Start(0.0, 0.0))
    assert (row.clock, row.native, row.virtual) == ("process", pytest.approx(0.4), 0.44)
    assert row.error == pytest.approx(0.1) and row.core_time is None
    assert validation.row("x", 2, samples, virtual, None, Start(0.0, 0.0)).native == pytest.approx(0.6)
    fine = [Sample(0.6, 0.5, 0.4, printed="0.2000")] * 3
    assert validation.row("x", 2, fine, virtual, None, Start(0.0, 0.0)).clock == "printed"
    assert Constants(1e-10, None).document()["why"] == "no size for calibration is stated"


def test_disturbed_printed_time_is_not_compared() -> None:
    """The process's own time is, where most runs had to wait for their processor; one such run is skipped."""
    quiet, delayed = Sample(0.5, 0.5, 0.4, printed="0.400"), Sample(2.0, 0.5, 0.4, 1.5, printed="1.900")
    start, virtual = Start(0.0, 0.0), Virtual(0.44, 0.42)
    busy = validation.row("x", 1, [quiet, delayed, delayed, delayed], virtual, None, start)
    assert (busy.clock, busy.native, busy.virtual) == ("process", pytest.approx(0.4), 0.44)
    calm = validation.row("x", 1, [quiet, quiet, delayed], virtual, None, start)
    assert (calm.clock, calm.native, calm.virtual) == ("printed", pytest.approx(0.4), 0.42)
