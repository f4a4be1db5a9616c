"""Programs that filter their own system calls with seccomp, where a forbidden call kills the process: under
`terrace run` they survive as without it.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
from conftest import ROOT, TERRACE

sys.path.insert(0, str(ROOT / "tests" / "support"))
from restricted import compiled

# confined HOW WHEN: the filter comes by prctl(2), by seccomp(2), by seccomp(2) for all threads, or is the strict
# one; before there are large data, after that, or in a forked child. It allows what large blocks take,
# and no more.
PROGRAM = r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static const size_t size = (size_t)40 << 20;
static const int allowed[] = {SYS_read,  SYS_write, SYS_exit_group, SYS_exit,         SYS_mmap,
                              SYS_munmap, SYS_brk,   SYS_futex,      SYS_rt_sigreturn, SYS_mremap};
static void confine(const char* how) {
  if (strcmp(how, "strict") == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(90);
    return;
  }
  struct sock_filter code[64];
  int n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; ++i) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  struct sock_fprog filter = {(unsigned short)n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(91);
  const int by_prctl = strcmp(how, "prctl") == 0;
  const unsigned flags = strcmp(how, "all-threads") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  if ((by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
                : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)) != 0)
    _exit(92);
}
static unsigned long use(unsigned char* block, size_t bytes) {
  unsigned long sum = 0;
  for (size_t i = 0; i < bytes; i += 512) sum = sum * 31 + (block[i] += (unsigned char)(i >> 9));
  return sum;
}
static void tell(unsigned long sum) {
  char text[40];
  const int length = sprintf(text, "%lu\n", sum);
  if (write(1, text, (size_t)length) < 0) syscall(SYS_exit, 93);
}
static int has_begun = 0;
static void* idle(void* at) {
  __atomic_store_n(&has_begun, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_lock(at);
  return at;
}
static unsigned long whole(unsigned char* before, unsigned char* kept) {
  unsigned long sum = before ? use(before, size) : 0;
  unsigned char* block = calloc(1, size);
  sum += use(block, size);
  free(before);
  unsigned char* map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sum += use(map, size);
  munmap(map, size);
  block = realloc(block, size + size / 2);
  sum += use(block + size, size / 4);
  if (kept) kept = realloc(kept, 2 * size), sum += use(kept, size);
  free(block);
  for (int i = 0; i < 300; ++i) free(malloc((size_t)i * 977));
  return sum;
}
int main(int count, char** words) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  if (count != 3) return 94;
  const char *how = words[1], *when = words[2];
  void* volatile first = malloc(1);  // which asks for random bytes
  free(first);
  if (strcmp(when, "before") == 0) {
    confine(how);
    tell(whole(NULL, NULL));
    return 5;
  }
  unsigned char *block = calloc(1, size), *kept = calloc(1, size), *untouched = calloc(1, size);
  tell(use(block, size) + use(kept, size));
  if (strcmp(when, "child") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      confine(how);
      tell(whole(block, kept));
      syscall(SYS_exit_group, 6);
    }
    int status = 0;
    waitpid(child, &status, 0);
    tell(use(block, size));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 95;
  }
  if (strcmp(how, "strict") == 0) {
    confine(how);
    tell(use(block, size) + use(untouched, size));
    syscall(SYS_exit, 5);
  }
  pthread_t thread;
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, idle, &mutex);
  while (!__atomic_load_n(&has_begun, __ATOMIC_SEQ_CST)) usleep(1000);
  confine(how);
  tell(whole(block, kept) + use(untouched, size));
  return 5;
}
"""
OPTIONS = [
    (),
    ("--profile",),
    ("--intent", "bandwidth"),
    ("--intent", "bandwidth", "--eager"),
    ("--memory", "1GiB"),
    ("--fast", "8MiB"),
    ("-o", "own.terrace"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("confined"), PROGRAM, "confined", "-pthread")


def ended(words, cwd):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def alone(program, tmp_path_factory):
    """Returns how the program ends without Terrace; each case runs once."""
    folder = tmp_path_factory.mktemp("alone")
    return cache(lambda how, when: ended([program, how, when], folder))


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("when", ["before", "after", "child"])
@pytest.mark.parametrize("how", ["prctl", "seccomp", "all-threads", "strict"])
def test_no_call_of_terrace_kills_the_program(how, when, options, program, alone, tmp_path):
    if how == "strict" and when != "after":
        pytest.skip("the C library itself takes more than it allows")
    plain = alone(how, when)
    assert plain[0] in (5, 6), plain
    if how in ("all-threads", "strict") and when == "after" and "--memory" in options:
        pytest.skip("out-of-core data need threads of Terrace's beside the program's: a line says so")
    ours = ended([TERRACE, "run", *options, "--", program, how, when], tmp_path)
    assert ours[:2] == plain[:2], ours[2]
    if not options:
        assert ours[2] == ""
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [("--profile",), ("--intent", "bandwidth"), ("--memory", "1GiB")], ids=" ".join
)
def test_requested_feature_reports_the_filter(options, program, tmp_path):
    status, _, said = ended([TERRACE, "run", *options, "--", program, "prctl", "before"], tmp_path)
    assert status == 5
    assert "filtered its system calls (seccomp), and ran without Terrace from then on" in said
    assert "nothing was p" not in said


def test_backing_file_warns_of_the_filter(program, tmp_path):
    status, _, said = ended([TERRACE, "run", "--memory", "1GiB", "--", program, "prctl", "after"], tmp_path)
    assert status == 5
    assert "while it has out-of-core data: Terrace's threads go on for these" in said


def test_filter_check_does_not_end_the_process(tmp_path):
    """prctl(2) with a null filter returns EFAULT if filters are supported."""
    asks = compiled(
        tmp_path,
        "#include <stdlib.h>\n#include <string.h>\n#include <sys/prctl.h>\n"
        "int main(void) { prctl(22, 2, 0); void* block = malloc(9 << 20); memset(block, 1, 9 << 20); free(block);"
        " return 5; }",
        "asks",
        "-O0",
    )
    status, _, said = ended([TERRACE, "run", "--intent", "bandwidth", "--", asks], tmp_path)
    assert status == 5
    assert "9MiB of data by bandwidth" in said
