"""`terrace run --memory`, `--intent` and related options on the command line: refusals."""

import os
import subprocess

import pytest
from conftest import refused, run


@pytest.mark.parametrize(
    "options",
    [
        *(
            ("--memory", "1GiB", option, value)
            for option, value in (
                ("--fast", "1GiB"),
                ("--budget", "ddr=1GiB"),
                ("--planner", "auto"),
                ("--machine", "ddr5-nvme"),
                ("--hints", "hints.toml"),
            )
        ),
        ("--memory", "1GiB", "--watermark", "0.2"),
        ("--memory", "1GiB", "--eager"),
        ("--intent", "bandwidth", "--memory", "1GiB"),
        ("--intent", "bandwidth", "--planner", "auto"),
    ],
)
def test_exclusive_options_are_refused(options):
    said = refused(run(*options, "--", "true"))
    assert " cannot be used with --" in said
    assert "leave one of them out" in said


@pytest.mark.parametrize(
    "options",
    [
        ("--memory", "24MiB", "--planner", "auto"),
        ("--memory", "24MiB", "--fast", "1GiB"),
        ("--config", "label=one memory=24MiB planner=auto"),
        ("--fast", "1GiB", "--config", "label=all", "--config", "label=one memory=24MiB"),
    ],
)
def test_memory_in_virtual_time_excludes_planning(options):
    said = refused(run("--machine", "ddr5-nvme", *options, "--", "true", verb="simulate"))
    assert " cannot be used with --memory: " in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--memory", "4"), "--memory 4 (4B): at least 64MiB is needed"),
        (("--memory", "4", "GiB"), "at least 64MiB is needed; a unit follows the number without a space: 4GiB\n"),
        (("--memory", "4k"), "--memory 4k (4KiB): at least 64MiB is needed\n"),
        (("--memory", "lots"), "--memory: 'lots' is not a size"),
        (("--fast", "lots"), "--fast: 'lots' is not a size"),
        (("--budget", "ddr=lots"), "--budget: 'lots' is not a size"),
        (("--memory",), "--memory has no value: '--' follows it"),
        (("--memory=",), "--memory has no value: '--' follows it"),
        (("--memory", "--spill", "/var/tmp"), "--memory has no value: '--spill' follows it"),
        (("--intent", "-q"), "--intent has no value: '-q' follows it"),
        (("--memory", "1GiB", "--memory", "2GiB"), "--memory is given twice; give it once"),
        (("--watermark", "abc"), "--watermark: 'abc' is not a number from 0 to 0.95"),
        (("--watermark", "0.96"), "--watermark: '0.96' is not a number from 0 to 0.95"),
        (("--domain", "abc"), "--domain: 'abc' is not a valid value"),
        (("--quiet=abc",), "--quiet: 'abc' is not a valid value"),
        (("--mark", "nan"), "--watermark: 'nan' is not a number from 0 to 0.95"),
        (("--gauges", "results.csv"), "--gauges results.csv: the name has to end in .prom"),
        (("--gauges", "/nowhere/x.prom"), "--gauges /nowhere/x.prom: there is no folder /nowhere"),
        (("--machine", "/nowhere/at/all.toml"), "there is no machine file '/nowhere/at/all.toml'"),
        (("--plan", "/nowhere/at/all.toml"), "/nowhere/at/all.toml: there is no such plan"),
        (("--hints", "/nowhere/at/all.toml"), "/nowhere/at/all.toml: there is no such hints file"),
        (("--memory", "1GiB", "--spill", "/proc"), "--spill /proc: "),
        (("--spill", "/var/tmp"), "--spill /var/tmp: it needs --memory SIZE"),
        (("--report-every", "1"), "--report-every 1: it needs --memory SIZE"),
        (("--memory", "1GiB", "--report-every", "-1"), "'-1' is not 0 or a positive number"),
        (("--memory", "1GiB", "--report-every", "abc"), "'abc' is not 0 or a positive number"),
        (("--sample", "0"), "'0' is not a positive number"),
        (("--intent", "bandwdth"), "did you mean 'bandwidth'? There are "),
        (("--intent", "bandwidth", "--machine", "knl-7210-flat"), "none of its memories is in this machine"),
    ],
)
def test_invalid_values_are_refused(options, says):
    said = refused(run(*options, "--", "true"))
    assert says in said
    assert len(said) < 400


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("run", "--memory"),
        ("run", "--spill"),
        ("run", "--intent"),
        ("run", "--gauges"),
        ("run", "--machine"),
        ("run", "--output"),
        ("run", "--phases"),
        ("run", "--loop"),
        ("run", "--fast"),
        ("run", "--planner"),
        ("run", "--plan"),
        ("run", "--define"),
        ("record", "--misses"),
        ("simulate", "--memory"),
        ("simulate", "--config"),
        ("simulate", "--cores"),
        ("machine", "--output"),
        ("merge", "--output"),
    ],
)
def test_empty_value_is_refused(verb, option):
    """It may come from an unset variable of a script; ignoring it would silently drop the request."""
    words = {"machine": (), "merge": ("journals",)}.get(verb, ("--", "true"))
    assert refused(run(option, "", *words, verb=verb)) == (
        f"terrace: {option}: the value is empty; give one, or leave the option out\n"
    )


def test_calibrate_accepts_empty_arguments(tmp_path):
    said = run("--calibrate", "", "--machine", "ddr5-nvme", "--", tmp_path / "none", verb="simulate").stderr
    assert "is not a file; give the path of the program itself" in said


def test_configuration_names_its_invalid_size():
    said = refused(run("--machine", "ddr5-nvme", "--config", "label=x memory=lots", "--", "true", verb="simulate"))
    assert "--config x: --memory: 'lots' is not a size" in said


def test_minimum_sizes_are_in_the_help():
    """With their meaning; they are the values that the command enforces."""
    of_run, of_simulate = (" ".join(run("--help", verb=verb).stdout.split()) for verb in ("run", "simulate"))
    assert "--memory SIZE limit each process to this much memory, such as 4GiB, at least 64MiB; " in of_run
    assert (
        "--memory SIZE limit the program's data to this much memory, such as 4GiB, at least 16MiB; " in of_simulate
    )
    assert "--spill FOLDER" in of_run and "--intent NAME" in of_run
    assert "the file is removed when the run ends" in of_run
    assert of_run.count("applies only to --intent and the calls of terrace.h") == 2
    said = refused(run("--machine", "ddr5-nvme", "--memory", "15MiB", "--", "true", verb="simulate"))
    assert "--memory 15MiB: at least 16MiB is needed" in said


@pytest.mark.parametrize("variables", [{}, {"TERRACE": "off"}])
def test_unstartable_program_has_the_shells_status(tmp_path, variables):
    page = tmp_path / "page"
    page.write_text("no program")
    for program, shell in ((tmp_path / "none", 127), (page, 126), (tmp_path, 126), ("no-such-program", 127)):
        status = subprocess.run(["sh", "-c", f"exec {program}"], capture_output=True).returncode
        done = run("--", program, env={**os.environ, **variables}, cwd=tmp_path)
        assert done.returncode == status == shell
        assert done.stderr.startswith(f"terrace: cannot start {program}: ")


def test_gauges_do_not_overwrite_foreign_files(tmp_path):
    page = tmp_path / "page.prom"
    page.write_text("# HELP node_load1 1m load average.\n")
    said = refused(run("--gauges", page, "--", "true"))
    assert "this file exists and has no gauges of Terrace" in said
    assert page.read_text() == "# HELP node_load1 1m load average.\n"


def test_mistyped_word_is_not_a_machine():
    said = refused(run("ordering", verb="machine"))
    assert said == "terrace: there is no machine 'ordering'; did you mean 'terrace machine orderings'?\n"
