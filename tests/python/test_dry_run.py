"""`terrace run --dry-run`: describes the run, and refuses what the run would refuse."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import ROOT, refused, run

sys.path.insert(0, str(ROOT / "tests" / "support"))
from restricted import RestrictedError, compiled

SAME_NODE = ("--machine", ROOT / "acceptance" / "programs_lines" / "same_node.toml")
PLAIN = "int main(void) { return 0; }"
NOTHING = "none (the program is not instrumented, and this run needs none)"


def described(*words: object, **how: object) -> dict[str, str]:
    """Returns the lines by the label before the colon."""
    done = run("--dry-run", *words, **how)
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("plain"), PLAIN, "plain")


def test_static_program_never_loads_terrace(tmp_path):
    try:
        alone = compiled(tmp_path, PLAIN, "alone", "-static")
    except RestrictedError as why:
        pytest.skip(str(why))
    lines = run("--dry-run", "--", alone).stdout.splitlines()
    assert lines == [
        f"would run: {alone}",
        "the program cannot load Terrace (it is statically linked), and runs unchanged",
    ]


def test_setuid_program_never_loads_terrace(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a program of another user takes the superuser's rights")
    program = compiled(tmp_path, PLAIN, "who")
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert "the program cannot load Terrace (it is set-uid" in run("--dry-run", "--", program).stdout
    program.chmod(0o2755)
    assert "the program cannot load Terrace (it is set-gid" in run("--dry-run", "--", program).stdout


@pytest.mark.parametrize("kind", ["none", "none in the path", "folder", "no rights"])
def test_unstartable_program_ends_like_the_run(kind, tmp_path):
    program = tmp_path / "program"
    if kind == "folder":
        program.mkdir()
    elif kind == "no rights":
        program.write_text("")
    word = "no-such-program" if kind == "none in the path" else program
    real, dry = (run(*options, "--", word, cwd=tmp_path) for options in ((), ("--dry-run",)))
    assert real.returncode == (127 if kind.startswith("none") else 126)
    assert (dry.returncode, dry.stdout, dry.stderr) == (real.returncode, "", real.stderr)


@pytest.mark.parametrize("planner", ["fast-only", "slow-only", "first-touch"])
def test_choice_without_profile_watches_nothing(planner, plain):
    said = described(*SAME_NODE, "--planner", planner, "--", plain)
    assert said["placement"] == f"{planner}, when memory is allocated"
    assert said["access counts"] == NOTHING


def test_collector_without_page_watching_needs_instrumentation(plain):
    said = described(*SAME_NODE, "--collector", "exact", "--", plain)
    assert said["placement"] == "none: a plan needs observed accesses"
    assert said["access counts"] == "none: the program is not instrumented, as --collector exact requires"


def test_pages_are_watched_to_make_a_plan(plain):
    said = described(*SAME_NODE, "--", plain)
    assert said["access counts"].startswith(
        ("page references by", "samples by", "none: the program is not instrumented, and its pages")
    )


@pytest.mark.parametrize(
    "options",
    [("--gauges", "/nowhere/x.prom"), ("-o", "/nowhere/x.terrace"), ("--memory", "1GiB", "--spill", "/nowhere")],
)
def test_dry_run_refuses_like_the_run(options):
    assert refused(run("--dry-run", *options, "--", "true")) == refused(run(*options, "--", "true"))


def test_no_gauges_are_written(tmp_path):
    described("--gauges", "x.prom", "--", "true", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_off_runs_nothing(tmp_path):
    done = run("--dry-run", "--", "touch", "was-run", cwd=tmp_path, env={**os.environ, "TERRACE": "off"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "would run: touch was-run\nTERRACE=off: it runs without Terrace\n"
    assert list(tmp_path.iterdir()) == []


def test_checked_program_has_its_own_memory(tmp_path):
    checked = compiled(tmp_path, PLAIN, "checked", "-fsanitize=address")
    said = run("--dry-run", "--", checked).stdout
    assert "is checked by a sanitizer" in said
    assert subprocess.run([checked], check=False).returncode == 0
