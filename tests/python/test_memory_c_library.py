"""Out-of-core memory and the C library's internal blocks, which must not fault on a file."""

import subprocess

import pytest
from conftest import run

# Its locale is loaded when small blocks lie over the file: Terrace's own threads print and parse, too.
LOCALE = r"""
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char* data[30000];
static void fill(int first, int end) {
  for (int i = first; i < end; ++i) memset(data[i] = malloc(8000), i, 8000);
}
int main(void) {
  fill(0, 9000);
  if (!setlocale(LC_ALL, "C.UTF-8")) return 3;
  fill(9000, 30000);
  long sum = 0;
  for (int k = 0; k < 3; ++k)
    for (int i = 9000; i < 30000; ++i) sum += data[i][100 * k];
  printf("%ld %.2f\n", sum, 1.5);
  return 0;
}
"""

# A child clears what other threads had of their own before any handler runs there.
THREADS_OWN = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_key_t keys[64];
static pthread_barrier_t begun;
static char* data[20000];
static void* wait_for_ever(void* self) {
  for (int i = 40; i < 60; ++i) pthread_setspecific(keys[i], self);
  pthread_barrier_wait(&begun);
  pause();
  return 0;
}
int main(void) {
  for (int i = 0; i < 64; ++i) pthread_key_create(&keys[i], 0);
  for (int i = 0; i < 20000; ++i) memset(data[i] = malloc(8000), i, 8000);
  pthread_barrier_init(&begun, 0, 3);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], 0, wait_for_ever, &begun);
  pthread_barrier_wait(&begun);
  for (int i = 0; i < 20000; ++i) data[i][1] = 1;  // and what they have leaves memory
  const pid_t child = fork();
  if (child == 0) _exit(data[5][7] == 5 ? 0 : 9);
  int status = -1;
  waitpid(child, &status, 0);
  printf("%d\n", status);
  return 0;
}
"""


@pytest.mark.parametrize("source", [LOCALE, THREADS_OWN], ids=["locale", "threads' own"])
def test_c_library_blocks_are_not_out_of_core(tmp_path, disk, source):
    (tmp_path / "program.c").write_text(source)
    subprocess.run(["gcc", "-O1", tmp_path / "program.c", "-o", tmp_path / "program", "-lpthread"], check=True)
    plain = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=300)
    done = run("--memory", "96MiB", "--spill", disk, "--", tmp_path / "program")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout)
    assert "of data in 96MiB of memory" in done.stderr
