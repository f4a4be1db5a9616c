"""`terrace run` on programs without observations: no message, no file, the program's own status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE, run

sys.path.insert(0, str(ROOT / "tests" / "support"))
from restricted import CONDITIONS, compiled


@pytest.mark.parametrize(
    ("program", "status"),
    [
        (("true",), 0),
        (("sh", "-c", "exit 3"), 3),
        (("sh", "-c", "sh -c : & wait; exec python3 -c 'bytearray(64 << 20)'"), 0),
        (("sh", "-c", "kill -9 $$"), -9),
    ],
)
def test_uninstrumented_program_leaves_nothing(tmp_path, program, status):
    """Also for several processes, and for a killed one."""
    done = run("--", *program, cwd=tmp_path)
    assert done.returncode == status
    assert done.stdout == done.stderr == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("program", [["true"], ["python3", "-c", ""]], ids=["true", "python3"])
def test_record_of_uninstrumented_program_states_the_reason(tmp_path, program):
    done = run("-o", tmp_path / "p.terrace", "--", *program, verb="record")
    refused = done.returncode != 0 and "instrumented" in done.stderr
    assert refused or (done.returncode == 0 and (tmp_path / "p.terrace").exists()), done.stderr
    assert "set-uid" not in done.stderr


def test_unwritable_folder_is_no_error(tmp_path):
    """There is nothing to write."""
    done = run("--", "sh", "-c", f"rmdir {tmp_path}/here", cwd=_folder(tmp_path))
    assert done.returncode == 0
    assert done.stderr == ""


def _folder(tmp_path):
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


def test_json_is_printed(tmp_path):
    """Without a file."""
    done = run("--json", "--", "true", cwd=tmp_path)
    assert json.loads(done.stderr)["file"] is None
    assert list(tmp_path.iterdir()) == []


ONE_KIND = len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) <= 1
PLAN = """
schema = 2
loop = "main"
phases = ["up"]
[[object]]
name = "x"
place = "ddr0"
"""


def test_requested_profile_reports_what_is_missing(tmp_path):
    done = run("-o", "app.terrace", "--", "true", cwd=tmp_path)
    assert done.returncode == 0
    assert "no access was seen" in done.stderr
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not ONE_KIND, reason="there is something to choose here")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--phases", "f"), "there is nothing to choose for the program"),
        (("--planner", "first-touch"), "there is nothing to choose for the program"),
        (("--fast", "16MiB"), "there is nothing to choose for the program"),
        (("--collector", "exact"), "there is nothing to choose for the program"),
        (("--plan", "s.toml"), "the plan has nothing to move"),
    ],
)
def test_requested_choice_reports_that_there_is_none(tmp_path, options, said):
    """A program without hooks needs none for that; no advice to build it anew, and no file."""
    (tmp_path / "s.toml").write_text(PLAN)
    done = run(*options, "--", "true", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == f"terrace: there is one kind of memory here: {said}\n"
    assert [one.name for one in tmp_path.iterdir()] == ["s.toml"]


@pytest.mark.skipif(not ONE_KIND, reason="there is something to choose here")
@pytest.mark.parametrize("name", ["no placing, not permitted", "no placing, not built in"])
def test_single_memory_needs_no_rights(tmp_path, name):
    """As in a container: no message, and no file."""
    large = compiled(
        tmp_path,
        "#include <stdlib.h>\n#include <string.h>\nint main(void) { char* volatile block = malloc(64 << 20);"
        " memset(block, 1, 64 << 20); return block[9] + 2; }",
        "large",
    )
    (tmp_path / "here").mkdir()
    words = CONDITIONS[name](tmp_path, [str(TERRACE), "run", "--", str(large)])
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path / "here")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--profile",)])
def test_loop_option_without_instrumentation_is_refused(options, tmp_path, folders):
    program = folders[0] / "idle"
    if not program.exists():
        compiled(folders[0], "int main(void) { return 0; }", "idle")
    done = run("--loop", "f", *options, "--", program, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        f"terrace: --loop needs an instrumented program, but {program} is not instrumented; build it with "
        "terrace-cc, or give --phases FUNCTION (without both, phases are intervals of time)\n"
    )
    assert list(tmp_path.iterdir()) == []


TWO_KINDS = ("--machine", ROOT / "acceptance" / "programs_lines" / "same_node.toml")
LARGE = """
#include <stdlib.h>
#include <string.h>
int main(void) {
  char* volatile block = malloc(64 << 20);
  memset(block, 1, 64 << 20);
  return block[9] - 1;
}
"""


def test_advice_without_instrumentation_names_watched_pages(tmp_path):
    large = compiled(tmp_path, LARGE, "large")
    done = run(*TWO_KINDS, "--fast", "16MiB", "-o", "x.terrace", "--", large, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith(
        "terrace: no main loop was seen (not instrumented: nothing repeated in intervals of 0.5 s, or the run was "
        "too short; terrace run --intent and --memory need no loop); profile in "
    )


BY_INTENT = """
import ctypes
library = ctypes.CDLL(None)
library.terrace_alloc.restype = ctypes.c_void_p
library.terrace_alloc(ctypes.c_size_t(8 << 20), b"bandwidth")
"""


@pytest.mark.parametrize(
    "words",
    [
        ("--planner", "fast-only", "--", "true"),
        (*TWO_KINDS, "--planner", "slow-only", "--", "true"),
        pytest.param(
            ("--", "python3", "-c", BY_INTENT),
            marks=pytest.mark.skipif(not ONE_KIND, reason="there is something to learn for here"),
        ),
    ],
)
def test_no_advice_to_rebuild_if_accesses_are_unneeded(words, tmp_path):
    done = run("-o", "x.terrace", *words, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == (
        "terrace: no access was seen; this run needs no profile; profile in x.terrace"
    )
    assert "build it" not in done.stderr


def test_instrumented_program_has_a_profile(tmp_path, folders):
    done = run("--", folders[1] / "adds", 10000, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "25 iterations" in done.stderr
    assert len(list(tmp_path.iterdir())) == 1


def test_program_without_loop_marks_has_a_requested_profile(tmp_path, folders):
    """Phases are observable; without a request there is nothing to place."""
    done = run("--", folders[0] / "adds", 10000, cwd=tmp_path)
    assert (done.stderr, list(tmp_path.iterdir())) == ("", [])
    assert "25 iterations" in run("-o", "a.terrace", "--", folders[0] / "adds", 10000, cwd=tmp_path).stderr
    assert len(list(tmp_path.iterdir())) == 1


def test_unnamed_profiles_go_to_the_environments_folder(tmp_path, folders):
    (tmp_path / "here").mkdir()
    where = {**os.environ, "TERRACE_PROFILES": str(tmp_path)}
    run("--", folders[1] / "adds", 10000, cwd=tmp_path / "here", env=where)
    assert list((tmp_path / "here").iterdir()) == []
    assert [one.suffix for one in tmp_path.iterdir() if one.is_file()] == [".terrace"]


@pytest.mark.parametrize("options", [("--json",), ("-o", "app.terrace"), ("--memory", "9T"), ("--fast", "1GiB")])
def test_full_log_does_not_end_the_program(tmp_path, options):
    """Nothing can be reported; the program's status is its own."""
    with Path("/dev/full").open("w") as full:
        command = [TERRACE, "run", *options, "--", "sh", "-c", "exit 3"]
        done = subprocess.run(command, stderr=full, stdout=subprocess.PIPE, cwd=tmp_path)
    assert done.returncode == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--plan", "here"),
            "here: the folder has no plan of a rank (rank-0.toml, rank-1.toml, ...); `terrace plan JOB.terrace "
            "--all-ranks -o FOLDER` writes them",
        ),
        (("--plan", "empty"), "empty: is empty, and no plan; `terrace plan` writes one"),
        (("--hints", "here"), "here: is a folder, and no hints file; give --hints a TOML file"),
        (
            ("--fast", "16"),
            "--fast 16: 16B is less than a page of memory; give at least 4KiB, or 0; a unit follows the number "
            "without a space: 4GiB",
        ),
        (("--fast", "1KiB"), "--fast 1KiB: 1KiB is less than a page of memory; give at least 4KiB, or 0"),
    ],
)
def test_likely_mistake_is_refused(tmp_path, options, said):
    (tmp_path / "here").mkdir()
    (tmp_path / "empty").touch()
    done = run(*options, "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"terrace: {said}\n")
