"""Fits of core times by phase, with synthetic runs of known results."""

import json
from fnmatch import fnmatchcase

import pytest
from terrace.solve import core_times
from terrace.solve.core_times import PhaseFit, PhaseFits
from terrace.store.values import PhaseInstance

PROBE = 1e-9


def _fits(native, instructions, program=0.2e-9, memory=1e-5):
    """Fits phases of a virtual machine with given core times per instruction, and memory for the rest."""
    at_least = dict.fromkeys(instructions, memory)
    at_probe = {name: memory + many * PROBE for name, many in instructions.items()}
    fits = core_times.of_phases(program, native, at_least, at_probe, PROBE)
    return {fit.pattern: fit for fit in fits}, [fit.pattern for fit in fits]


def test_phase_gets_core_time_of_its_native_time():
    """Two phases whose instructions took 0.15 and 0.45 ns natively."""
    native = {"smooth": 1e-5 + 2e6 * 0.15e-9, "gather": 1e-5 + 1e6 * 0.45e-9}
    fits, _ = _fits(native, {"smooth": 2e6, "gather": 1e6})
    assert fits["smooth"] == PhaseFit("smooth", native["smooth"], pytest.approx(0.15e-9), "phase")
    assert fits["gather"] == PhaseFit("gather", native["gather"], pytest.approx(0.45e-9), "phase")


@pytest.mark.parametrize(
    ("native", "instructions", "why"),
    [
        ({"p": 19e-6}, 1e5, "too short"),
        ({"p": 1e-5 + 1e6 * 0.81e-9}, 1e6, "too far off"),
        ({"p": 1e-5 + 1e6 * 0.049e-9}, 1e6, "too far off"),
        ({"p": 5e-3}, 0, "no instructions seen"),
        ({"q": 5e-3}, 1e6, "not run natively"),
    ],
)
def test_unusable_phase_gets_the_programs_core_time(native, instructions, why):
    """The reason is stated; the program's core time is 0.2 ns."""
    fits, _ = _fits(native, {"p": instructions})
    assert fits["p"].core_time == 0.2e-9
    assert fits["p"].rests_on == why


def test_core_time_within_factor_four_is_accepted():
    """In both directions."""
    for took in (0.051e-9, 0.79e-9):
        fits, _ = _fits({"p": 1e-5 + 1e6 * took}, {"p": 1e6})
        assert fits["p"].core_time == pytest.approx(took)


def test_largest_phase_of_a_family_decides():
    """Measures psinv.3 to psinv.5; psinv.5 took 0.3 ns an instruction, the others more."""
    native = {"psinv.3": 1e-5 + 1e4 * 0.7e-9, "psinv.4": 1e-5 + 1e5 * 0.5e-9, "psinv.5": 1e-5 + 1e6 * 0.3e-9}
    fits, _ = _fits(native, {"psinv.3": 1e4, "psinv.4": 1e5, "psinv.5": 1e6})
    (fit,) = fits.values()
    assert (fit.core_time, fit.native) == (pytest.approx(0.3e-9), native["psinv.5"])
    assert fnmatchcase("psinv.12", fit.pattern)
    assert not fnmatchcase("psinv.top", fit.pattern)


def test_each_name_matches_its_family_first():
    """For any order of the phases."""
    names = ["a1", "a1b2", "a", "norm", "norm2", "normalise", "7", "x2y", "x2"]
    _, patterns = _fits(dict.fromkeys(names, 0.001), dict.fromkeys(names, 1000000.0))
    for name in names:
        assert next(p for p in patterns if fnmatchcase(name, p)) == core_times.pattern(name), name


def test_names_with_wildcards_are_quoted():
    """The shell's way of quoting, as fnmatch(3) reads it."""
    assert core_times.pattern("f[i]*?") == r"f\[i\]\*\?"


def test_options_name_the_program_and_its_phases():
    """In order of precedence."""
    fit = PhaseFits(0.12e-9, [PhaseFit("a", 1.0, 0.2e-9, "phase"), PhaseFit("b.[0-9]*", 1.0, 0.3e-9, "phase")])
    assert fit.options() == [
        "--core-time=120.000000000ps",
        "--core-time=a=200.000000000ps",
        "--core-time=b.[0-9]*=300.000000000ps",
    ]


def test_median_is_over_iterations_and_repetitions():
    """Three runs of two iterations with one outlier."""
    runs = [[PhaseInstance(i, 0, "p", 1.0, 1.0 + took, 0.0) for i, took in enumerate(pair)] for pair in
            ((2.0, 3.0), (90.0, 1.0), (3.0, 4.0))]  # fmt: skip
    assert core_times.medians(runs) == {"p": 3.0}


def test_bounds_use_given_core_times(terrace, folders):
    """Two equal phases: the one with twice the core time has about twice the bound."""
    given = ("--core-time", "10ns", "--core-time", "aga*=20ns")
    done = terrace("bounds", "--json", "-m", "unimem-lat4", *given, "--", folders[1] / "adds", "4000")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["core_time"] == {
        "instruction_s": 10e-9,
        "calibrated": True,
        "phases": {"after": 10e-9, "again": 20e-9, "before": 10e-9, "up.4": 10e-9},
    }
    up, again = sorted(document["phases"], key=lambda phase: phase["name"] == "again")
    for phase in (up, again):
        assert 0 < phase["lower_bound_s"] <= phase["fast_only_s"] * (1 + 1e-9)
        assert phase["fast_only_s"] <= phase["slow_only_s"]
    # In the caches, core time is nearly all there is.
    assert again["lower_bound_s"] == pytest.approx(2 * up["lower_bound_s"], rel=0.02)
    assert document["lower_bound_s"] <= document["fast_only_s"]


def test_profile_refuses_another_core_time(terrace, store_path):
    """The core time of a profile is fixed."""
    done = terrace("bounds", store_path, "--core-time", "1ns")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "terrace: --core-time requires a program: a profile has the core time of its run; give `-- PROGRAM`\n"
    )
