"""Common fixtures: a store with known contents, the command line, a program in both builds."""

import json
import os
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TERRACE_BUILD", ROOT / "build" / "release"))
TERRACE = BUILD / "src" / "cli" / "terrace"

# Two phases that do the same; the first one's name has a number that follows the size.
ADDS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void mark(const char* marker, const char* name) {
  void (*const call)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, marker);
  if (call) call(name);
}
int main(int argc, char** argv) {
  const long n = atol(argv[1]);
  volatile double* a = calloc(n, sizeof *a);
  for (long i = 0; i < n; ++i) a[i] = 1;
  const double begin = now();
  mark("terrace_loop_begin", "main");
  for (int k = 0; k < 25; ++k) {
    mark("terrace_phase", n < 10000 ? "up.4" : "up.5");
    for (long i = 0; i < n; ++i) a[i] += 1;
    mark("terrace_phase", "again");
    for (long i = 0; i < n; ++i) a[i] += 1;
  }
  mark("terrace_loop_end", 0);
  printf("Time %.12f s\n", now() - begin);
  return a[argc] != 51;
}
"""


# Files whose tests take longest begin first: with --dist loadfile all tests of a file run in one process.
LONGEST_FILES = (
    "test_slurm", "test_slurm_page",
    "test_pages_for_users", "test_experiment", "test_compare", "test_exit_statuses", "test_out_of_core",
    "test_memory_size", "test_examples", "test_stencils_page", "test_completion", "test_gpu", "test_confidence",
    "test_calibrating", "test_signals", "test_page_watching", "test_seccomp", "test_programs", "test_command_line",
    "test_description", "test_optimum", "test_restricted_systems", "test_dhat_names", "test_ccnuma",
    "test_plan_verb",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves the tests of the longest files to the front; the order is otherwise that of the files."""
    place = {name: number for number, name in enumerate(LONGEST_FILES)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def run(*words: object, verb: str = "run", **how: Any) -> subprocess.CompletedProcess[str]:
    """Runs the launcher and captures its text."""
    command = [TERRACE, verb, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **how)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Returns the one line with the reason of a refusal."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("terrace: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def charts_of(page: str) -> dict[str, dict[str, Any]]:
    """Returns the figures of a page by name, as Plotly parses them."""
    found = re.findall(r'<script type="application/json" data-chart="([^"]+)">(.*?)</script>', page, re.DOTALL)
    return {name: json.loads(text) for name, text in found}


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the store of a synthetic job with two processes (tests/support/synthetic_job.hpp): 4001 ended, 4002
    was killed.
    """
    program = BUILD / "tests" / "unit" / "profile" / "synthetic_job"
    assert program.exists(), f"{program} is not built; set TERRACE_BUILD to the build folder"
    folder = tmp_path_factory.mktemp("job")
    return Path(subprocess.run([program, folder], capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="session")
def terrace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """Runs `terrace SUBCOMMAND ...` without a terminal, in a process that is forked from one that has imported
    Terrace (verb_server.py). What the launcher executes is `python -P -m terrace`, which other tests run.
    """
    server = subprocess.Popen(
        [sys.executable, "-P", Path(__file__).with_name("verb_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert server.stdin and server.stdout
    folder = tmp_path_factory.mktemp("terrace")
    output, errors = folder / "output", folder / "errors"

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        assert server.stdin and server.stdout
        output.write_bytes(b"")
        errors.write_bytes(b"")
        request = {
            "words": list(map(str, words)),
            "folder": str(Path.cwd()),
            "environment": dict(os.environ),
            "output": str(output),
            "errors": str(errors),
        }
        server.stdin.write(json.dumps(request) + "\n")
        ready, _, _ = select.select([server.stdout], [], [], 300)
        if not ready:
            server.kill()
            raise subprocess.TimeoutExpired(request["words"], 300)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(request["words"], status, output.read_text(), errors.read_text())

    yield run
    server.stdin.close()
    server.wait(timeout=60)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Returns folders of the program `adds`, uninstrumented and instrumented."""
    folder = tmp_path_factory.mktemp("adds")
    (folder / "adds.c").write_text(ADDS)
    for name, compiler in (("native", "gcc"), ("hooked", str(Path(sys.executable).with_name("terrace-cc")))):
        (folder / name).mkdir()
        subprocess.run([compiler, "-O2", folder / "adds.c", "-o", folder / name / "adds", "-ldl"], check=True)
    return folder / "native", folder / "hooked"


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """Returns a folder on a disk; requires the right to handle page faults."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="terrace-") as folder:
        probe = run("--memory", "64MiB", "--spill", folder, "--", "true")
        if "out-of-core memory needs" in probe.stderr or "is in memory itself" in probe.stderr:
            pytest.skip(probe.stderr)
        yield Path(folder)
