"""Programs under valgrind, which emulates the processor: Terrace disables itself."""

import shutil
import subprocess

import pytest
from conftest import run

if shutil.which("valgrind") is None:
    pytest.skip("no valgrind", allow_module_level=True)

# 64 bytes are lost, and one is read behind a block; a large block, and a child.
WRONG = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  char* large = malloc(9 << 20);
  memset(large, 1, 9 << 20);
  volatile char* small = malloc(64);
  small[0] = 1;
  const pid_t child = fork();
  if (child == 0) _exit(large[5] + 4);
  int status = 0;
  waitpid(child, &status, 0);
  const char behind = small[64];
  printf("%x %d\n", (unsigned)status, behind != 0 && behind == 0);
  free(large);
  small = 0;
  return 3;
}
"""
FOUND = ("Invalid read of size 1", "definitely lost: 64 bytes in 1 blocks")
LINE = "terrace: valgrind has the program to itself: it runs without Terrace\n"


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valgrind")
    (folder / "wrong.c").write_text(WRONG)
    subprocess.run(["gcc", "-g", "-O0", folder / "wrong.c", "-o", folder / "wrong"], check=True)
    return folder / "wrong"


OPTIONS = [(), ("--memory", "64MiB", "--spill", "/var/tmp"), ("--profile",), ("--intent", "capacity")]


@pytest.mark.parametrize("options", OPTIONS, ids=["nothing", "memory", "profile", "intent"])
def test_valgrind_finds_errors(wrong, tmp_path, options):
    done = run(
        *options, "--", "valgrind", "--leak-check=full", "--child-silent-after-fork=yes", wrong, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (3, "500 0\n")
    for one in FOUND:
        assert one in done.stderr
    assert LINE in done.stderr
    assert done.stderr.count("terrace") == LINE.count("terrace")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", OPTIONS, ids=["nothing", "memory", "profile", "intent"])
@pytest.mark.parametrize("tool", ["memcheck", "none"])
def test_valgrind_started_by_another_program_finds_errors(wrong, tmp_path, options, tool):
    checks = "--leak-check=full" if tool == "memcheck" else ""
    script = f"valgrind --tool={tool} {checks} {wrong}"
    done = run(*options, "--", "sh", "-c", f"{script}; exit $?", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "500 0\n")
    for one in FOUND if tool == "memcheck" else ():
        assert one in done.stderr


def test_quiet_prints_nothing(tmp_path):
    done = run("-q", "--memory", "64MiB", "--spill", "/var/tmp", "--", "valgrind", "-q", "/bin/true", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
