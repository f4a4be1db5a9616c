"""Freeing an invalid pointer ends the program, as without Terrace."""

import signal
import subprocess
from pathlib import Path

import pytest
from conftest import run

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "acceptance/programs_lines/same_node.toml"
WAYS = {
    "profile": ["--profile"],
    "two kinds of memory": ["--machine", MACHINE, "--fast", "64MiB"],
    "an intent": ["--machine", MACHINE, "--intent", "capacity"],
    "out of core": ["--memory", "256MiB", "--spill", "/var/tmp"],
}
# A small block is the last of many: by then they are by the intent, or over the file.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(char* what, char* block, size_t size) {
  char* const inside = block + size / 32 * 16;
  if (!strcmp(what, "inside")) free(inside);
  if (!strcmp(what, "inside, again")) block = realloc(inside, 100);
  if (!strcmp(what, "twice")) { free(block); free(block); }
  if (!strcmp(what, "after it")) { free(block); block = realloc(block, 100); }
}
int main(int count, char** words) {
  const size_t size = strtoull(words[2], 0, 0);
  for (int i = 0; size < 1 << 20 && i < 25600; ++i) memset(malloc(4096), 1, 4096);
  memset(malloc(64 << 20), 1, 64 << 20);
  char* const block = malloc(size);
  memset(block, 1, size);
  if (count > 3 && fork() == 0) {
    end(words[1], block, size);
    _exit(7);
  }
  int status = 0;
  if (count > 3) {
    wait(&status);
    free(block);
    return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  end(words[1], block, size);
  return 7;
}
"""
LARGE, SMALL = str(64 << 20), "1000"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frees")
    (folder / "frees.c").write_text(SOURCE)
    words = ["gcc", "-O0", "-w", folder / "frees.c", "-o", folder / "frees"]
    subprocess.run(words, check=True)
    return folder / "frees"


def options(way: str, folder: Path) -> list[object]:
    return [*WAYS[way], *([] if way in ("an intent", "out of core") else ["-o", folder / "p.terrace"])]


def told(what: str) -> str:
    return f"{'free' if what in ('inside', 'twice') else 'realloc'}(): invalid pointer\n"


@pytest.mark.parametrize("what", ["inside", "inside, again", "twice", "after it"])
@pytest.mark.parametrize("way", WAYS)
def test_free_of_non_block_ends_the_program(program, tmp_path, way, what):
    done = run(*options(way, tmp_path), "--", program, what, LARGE)
    assert done.returncode == -signal.SIGABRT
    assert told(what) in done.stderr


@pytest.mark.parametrize("way", ["an intent", "out of core"])
def test_free_inside_small_block_ends_the_program(program, way):
    what = "inside"
    done = run(*WAYS[way], "--", program, what, SMALL)
    assert done.returncode == -signal.SIGABRT
    assert told(what) in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_free_in_child_ends_the_child(program, tmp_path, way):
    done = run(*options(way, tmp_path), "--", program, "inside", LARGE, "child")
    assert done.returncode == 100 + signal.SIGABRT


@pytest.mark.parametrize("way", WAYS)
def test_valid_block_is_freed(program, tmp_path, way):
    for size in (LARGE, SMALL):
        done = run(*options(way, tmp_path), "--", program, "nothing", size, "child")
        assert done.returncode == 7, done.stderr
