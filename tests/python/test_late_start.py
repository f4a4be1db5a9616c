"""Lazy initialisation: without a request, a process with nothing to place does not start Terrace and has no
journal. It starts with its first large data, with all features from then on.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import TERRACE, run

# Does what its words say, one after the other, and prints how many journals this run's folder has after each.
STEPS = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void* nothing(void* given) { return given; }
static int journals(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s", getenv("TERRACE_SESSION"));
  DIR* const folder = opendir(dirname(path));
  int found = 0;
  for (const struct dirent* entry; (entry = readdir(folder));) found += strstr(entry->d_name, ".journal") != NULL;
  closedir(folder);
  return found;
}
#ifdef STATIC
static volatile char data[STATIC];
#endif
int main(int count, char** words) {
#ifdef STATIC
  data[count] = 1;
#endif
  printf("%d", journals());
  for (int i = 1; i < count; ++i) {
    errno = 77;
    if (!strcmp(words[i], "small"))
      for (int k = 0; k < 200; ++k) free(malloc(8000));
    if (!strcmp(words[i], "large")) free(malloc(1 << 20));
    if (!strcmp(words[i], "zeros")) free(calloc(2, 1 << 20));
    if (!strcmp(words[i], "many"))
      for (int k = 0; k < 70; ++k) free(malloc(64 << 10));
    if (!strcmp(words[i], "map")) mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(words[i], "reserve")) mmap(NULL, 1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(words[i], "thread")) {
      pthread_t thread;
      pthread_create(&thread, NULL, nothing, NULL);
      pthread_join(thread, NULL);
    }
    if (!strcmp(words[i], "call")) {
      int (*const active)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "terrace_active");
      if (!active || !active()) return 99;
    }
    if (!strcmp(words[i], "fork")) {
      const pid_t child = fork();
      if (child == 0) {
        free(malloc(8 << 20));
        _exit(journals());
      }
      int status = 0;
      waitpid(child, &status, 0);
      printf(" child:%d", WEXITSTATUS(status));
    }
    if (!strcmp(words[i], "vfork")) {
      const pid_t child = vfork();
      if (child == 0) {
        free(malloc(8 << 20));
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
    if (errno != 77 && strcmp(words[i], "fork")) printf(" errno:%d", errno);
    printf(" %d", journals());
  }
  puts("");
  return 0;
}
"""


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Returns the program, and a variant with static data."""
    folder = tmp_path_factory.mktemp("steps")
    (folder / "steps.c").write_text(STEPS)
    for name, more in (("steps", []), ("static", ["-DSTATIC=2097152"]), ("little", ["-DSTATIC=65536"])):
        subprocess.run(
            ["gcc", "-O1", "-fno-builtin", *more, folder / "steps.c", "-o", folder / name, "-pthread", "-ldl"],
            check=True,
        )
    return folder


MACHINES = Path(__file__).parents[1] / "unit" / "machine" / "topologies"
TWO_KINDS = {**os.environ, "HWLOC_XMLFILE": str(MACHINES / "ddr-cxl-2sockets.xml")}
ONE_KIND = {**os.environ, "HWLOC_XMLFILE": str(MACHINES / "mi300a-4.xml")}


@pytest.mark.parametrize(
    ("words", "journals"),
    [
        ((), "0"),
        (("small",), "0 0"),
        (("reserve",), "0 0"),
        (("large",), "0 1"),
        (("zeros",), "0 1"),
        (("map",), "0 1"),
        (("many",), "0 0"),
        (("thread",), "0 1"),
        (("call",), "0 1"),
        (("small", "large", "large", "thread"), "0 0 1 1 1"),
        # A child of fork is left alone, whatever it does; its parent is as it was.
        (("fork", "large"), "0 child:0 0 1"),
        (("large", "fork"), "0 1 child:1 1"),
        # One of vfork is in its parent's memory, which begins when the parent itself holds something.
        (("vfork", "large"), "0 0 1"),
    ],
)
def test_start_with_first_placeable_data(words, journals, steps, tmp_path):
    # Quiet, as not all of these nodes are there.
    done = run("--quiet", "--", steps / "steps", *words, env=TWO_KINDS, cwd=tmp_path)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, journals, "")


def test_large_static_data_starts_at_once(steps, tmp_path):
    assert run("--", steps / "static", env=TWO_KINDS, cwd=tmp_path).stdout.strip() == "1"
    assert run("--", steps / "little", env=TWO_KINDS, cwd=tmp_path).stdout.strip() == "0"


@pytest.mark.parametrize(
    ("words", "journals"),
    [
        (("large", "zeros", "map"), "0 0 0 0"),
        (("large", "thread"), "0 0 1"),
        (("large", "call"), "0 0 1"),
        (("large", "fork", "vfork"), "0 0 child:0 0 0"),
    ],
)
def test_large_data_with_one_kind_of_memory_does_not_start(words, journals, steps, tmp_path):
    done = run("--", steps / "steps", *words, env=ONE_KIND, cwd=tmp_path)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, journals, "")
    assert list(tmp_path.iterdir()) == []
    assert run("--", steps / "static", env=ONE_KIND).stdout.strip() == "0"


# Prints how many pages of its own it touched while it made blocks larger and others came and went.
GROWING = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
enum { MIB = 1 << 20 };
static long faults(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}
int main(void) {
  size_t words = 8 * MIB / sizeof(uint64_t);
  uint64_t* all = malloc(words * sizeof *all);
  for (size_t i = 0; i < words; ++i) all[i] = i * 2654435761u;
  const long before = faults();
  while (words < 64 * MIB / sizeof *all) {
    const size_t more = words + 1 * MIB / sizeof *all;
    all = realloc(all, more * sizeof *all);
    for (size_t i = words; i < more; ++i) all[i] = i * 2654435761u;
    words = more;
  }
  for (size_t i = 0; i < words; ++i)
    if (all[i] != i * 2654435761u) return 1;
  const long grown = faults() - before;
  free(all);
  // What was freed tells the C library that such sizes come and go: smaller ones stay mapped.
  for (int turn = 0; turn < 200; ++turn) {
    char* const block = malloc(400 << 10);
    for (size_t i = 0; i < 400 << 10; i += 4096) block[i] = 1;
    free(block);
  }
  printf("%ld %ld\n", grown, faults() - before - grown);
  return 0;
}
"""


@pytest.mark.parametrize("env", [ONE_KIND, None], ids=["nothing to choose", "watched"])
def test_growing_arrays_are_not_copied(env, tmp_path):
    """A copy would touch all pages again: 56 times an eighth more are 250 MB, and by each step 2 GB."""
    (tmp_path / "growing.c").write_text(GROWING)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "growing.c", "-o", "growing"], cwd=tmp_path, check=True)
    plain = subprocess.run([tmp_path / "growing"], capture_output=True, text=True, check=True).stdout.split()
    options = () if env else ("--profile", "-o", tmp_path / "kept.terrace")
    done = run(*options, "--", tmp_path / "growing", env=env)
    assert done.returncode == 0
    for ours, without in zip(done.stdout.split(), plain, strict=True):
        assert int(ours) <= int(without) * 1.25 + 2000


def test_instrumented_program_starts_at_once(folders):
    """Instrumentation observes the first iteration. Markers alone do not start Terrace."""
    native, hooked = (run("--", where / "adds", 10000).stderr for where in folders[:2])
    assert "25 iterations" in hooked
    assert native == ""


def test_instrumented_program_in_a_script_starts(folders):
    """The launcher cannot know what the script runs; its name, arguments and files are its own."""
    script = f"exec 5</dev/null; cd {folders[1]}; exec -a another ./adds 10000"
    done = run("--", "bash", "-c", script)
    assert done.returncode == 0
    assert "25 iterations" in done.stderr


def test_unobserved_process_loads_the_small_library(steps, tmp_path):
    """Its own definitions are not interposed."""
    maps = run("--", "sh", "-c", "cat /proc/self/maps").stdout
    assert "libterrace_unfollowed.so" in maps
    assert "libterrace.so" not in maps
    asked = run("--fast", "1GiB", "-o", tmp_path / "x.terrace", "--", "sh", "-c", "cat /proc/self/maps").stdout
    assert "libterrace.so" in asked


@pytest.mark.parametrize("option", [("--planner", "first-touch"), ("--memory", "1GiB"), ("--intent", "bandwidth")])
def test_request_starts_at_once(option, steps, tmp_path):
    assert run(*option, "--", steps / "steps", cwd=tmp_path).stdout.strip() == "1"


def test_process_of_another_user_runs_silently(steps):
    """It cannot read the run's folder, and nothing was requested."""
    if os.geteuid() != 0:
        pytest.skip("another user takes the superuser's rights")
    done = run("--", "setpriv", "--reuid", "65534", "--clear-groups", "cat", "/proc/version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_off_disables_everything(steps):
    where = {**os.environ, "TERRACE": "off", "TERRACE_SESSION": str(Path("/tmp/none/session"))}
    done = subprocess.run(
        [TERRACE, "run", "--", "sh", "-c", "grep -c libterrace /proc/self/maps"],
        env=where,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.strip() == "0"
