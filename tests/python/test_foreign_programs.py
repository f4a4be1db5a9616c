"""Programs that cannot load the library: of another C library (musl), statically linked, of another user's rights.

Each runs as without Terrace, however it is started, and one line says that it was not observed.
"""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, run

sys.path.insert(0, str(ROOT / "tests" / "support"))
from restricted import compiled

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) {
  char* const p = malloc(20 << 20);
  memset(p, 1, 20 << 20);
  puts("m");
  return argc > 1 ? atoi(argv[1]) : 3;
}
"""
MUSL = "it uses another C library (/lib/ld-musl"
STARTS = (
    *("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "descriptor"),
    *("posix_spawn", "posix_spawnp", "vfork", "system"),
)


@pytest.fixture(scope="module")
def musl(tmp_path_factory):
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc")
    folder = tmp_path_factory.mktemp("musl")
    (folder / "foreign.c").write_text(PROGRAM)
    subprocess.run(["musl-gcc", folder / "foreign.c", "-o", folder / "foreign"], check=True, timeout=60)
    return folder / "foreign"


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("starts"), ROOT / "tests" / "support" / "starts.c", "starts")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("alone"), PROGRAM, "alone", "-static")


ACTIVE = (
    ("run", "--intent", "bandwidth"),
    ("run", "--memory", "64MiB", "--spill", "/var/tmp"),
    ("run", "--profile"),
    ("record",),
    ("simulate", "--machine", "unimem-lat4"),
)


def test_program_of_another_c_library_runs_with_a_note(musl):
    done = run("--", musl)
    assert (done.returncode, done.stdout) == (3, "m\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"terrace: {musl} ran without Terrace: {MUSL}")
    assert run("-q", "--", musl).stderr == ""
    assert f"the program cannot load Terrace ({MUSL}" in run("--dry-run", "--", musl).stdout


@pytest.mark.parametrize("option", ACTIVE, ids=" ".join)
def test_request_for_such_a_program_is_reported(musl, option, tmp_path):
    done = run(*option[1:], "--", musl, verb=option[0], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "m\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"terrace: {musl} never loaded Terrace: {MUSL}")


@pytest.mark.parametrize("how", STARTS)
def test_started_child_runs_with_a_note(musl, starts, how):
    done = run("--", starts, how, musl)
    assert (done.returncode, done.stdout) == (3, "m\n")
    (line,) = done.stderr.splitlines()
    assert "which was started by the program, ran without Terrace: it uses another C library" in line
    assert musl.name in line


@pytest.mark.parametrize("option", ACTIVE, ids=" ".join)
def test_children_of_a_shell_are_noted_once(musl, option, tmp_path):
    done = run(*option[1:], "--", "sh", "-c", f"{musl} 4; {musl} 5", verb=option[0], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (5, "m\nm\n")
    assert done.stderr.count("ran without Terrace: it uses another C library") == 1


def test_script_with_such_an_interpreter_runs(musl, starts, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{musl}\n")
    script.chmod(0o755)
    for words in ((script,), (starts, "execvp", script), (starts, "posix_spawn", script)):
        done = run("--", *words)
        assert done.stdout == "m\n", done.stderr
        assert done.returncode == 0  # the script's name is no number
        assert "uses another C library" in done.stderr


def test_users_preloaded_libraries_stay(musl, tmp_path):
    """Only Terrace's library is removed from LD_PRELOAD."""
    library = tmp_path / "own.so"
    (tmp_path / "own.c").write_text(
        '#include <stdio.h>\n__attribute__((constructor)) void begin(void) { puts("own"); }\n'
    )
    options = ("-shared", "-fPIC", "-nostdlib")
    subprocess.run(["musl-gcc", *options, tmp_path / "own.c", "-o", library], check=True, timeout=60)
    done = run("-q", "--", "sh", "-c", f"LD_PRELOAD=$LD_PRELOAD:{library} exec {musl}")
    assert (done.returncode, done.stdout, done.stderr) == (3, "own\nm\n", "")


@pytest.mark.parametrize("verb", ["record", "simulate"])
@pytest.mark.parametrize("kind", ["static", "set-uid", "musl"])
def test_command_that_needs_a_profile_fails(kind, verb, alone, tmp_path, request):
    if kind == "musl":
        program, why = request.getfixturevalue("musl"), MUSL
    elif kind == "static":
        program, why = alone, "it is statically linked"
    else:
        if os.geteuid() != 0:
            pytest.skip("a program of another user takes the superuser's rights")
        program, why = compiled(tmp_path, PROGRAM, "who"), "it is set-uid"
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
    for quiet in ((), ("-q",)):
        done = run(*quiet, "-o", "p.terrace", "--", program, 0, verb=verb, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "m\n")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"terrace: {program} never loaded Terrace: {why}")
        assert line.endswith(", and no profile of it is made")
    assert run("-o", "p.terrace", "--", program, 7, verb=verb, cwd=tmp_path).returncode == 7
    assert not (tmp_path / "p.terrace").exists()
