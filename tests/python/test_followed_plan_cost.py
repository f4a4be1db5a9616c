"""A plan that is followed costs a plain program neither a thread nor page faults that it does not need."""

import subprocess

import pytest
from conftest import ROOT, run

MACHINE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"
# Allocates and frees two blocks in each of 50 iterations, and prints the threads of the process and the page
# faults of the loop. calloc() must return zeros although the pages are used again.
PROGRAM = r"""
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
static long faults(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}
int main(void) {
  const size_t size = 8 << 20;
  const long before = faults();
  long wrong = 0;
  for (int i = 0; i < 50; i++) {
    char* a = malloc(size);
    char* b = calloc(1, size / 2);
    for (size_t at = 0; at < size / 2; at += 512) wrong += b[at] != 0;
    memset(a, 1, size);
    memset(b, 2, size / 2);
    free(b);
    free(a);
  }
  const long after = faults();
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; (task = readdir(tasks));) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE* file = fopen(path, "r");
    if (file && fgets(name, sizeof name, file)) printf("thread %s", name);
    if (file) fclose(file);
  }
  printf("%ld faults, %ld wrong\n", after - before, wrong);
  return 0;
}
"""
PLAN = """schema = 2
planner = "hand"
machine = "same-node"
loop = "{loop}"
budget = ["ddr=4KiB"]
phases = ["{loop}"]
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    (folder / "blocks.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-o", "blocks", "blocks.c"], cwd=folder, check=True)
    return folder / "blocks"


def test_plan_without_moves_costs_no_faults_and_no_thread(program, tmp_path):
    """Pages are watched for a profile alone. Freed blocks keep their pages."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(loop="main:8"))
    words = ("-q", "--machine", MACHINE)
    followed = run(*words, "--plan", plan, "--keep-plan", "--", program, cwd=tmp_path)
    watched = run(*words, "--fast", "1MiB", "--", program, cwd=tmp_path)
    assert "thread terrace/pages" not in followed.stdout
    assert "thread terrace/pages" in watched.stdout
    faults, wrong = (int(part.split()[0]) for part in followed.stdout.splitlines()[-1].split(", "))
    assert wrong == 0
    assert watched.stdout.endswith(" 0 wrong\n")
    # The pages of both blocks, once. Each of 50 iterations would fault 3,072 in, unless there are huge pages.
    assert faults < 2 * 3072
