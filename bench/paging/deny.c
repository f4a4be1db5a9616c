// deny CALL... -- COMMAND: runs a command for which the kernel refuses these system calls, as in some containers.
// acceptance/memory tests with it what Terrace does then.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX = 16 };

static const struct {
  const char* name;
  unsigned number;
} calls[] = {
    {"userfaultfd", SYS_userfaultfd},
    {"io_uring_setup", SYS_io_uring_setup},
    {"mbind", SYS_mbind},
    {"move_pages", SYS_move_pages},
    {"set_mempolicy", SYS_set_mempolicy},
    {"get_mempolicy", SYS_get_mempolicy},
    {"perf_event_open", SYS_perf_event_open},
};

int main(int count, char** words) {
  struct sock_filter filter[2 * MAX + 2] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
  };
  unsigned short length = 1;
  int at = 1;
  for (; at < count && strcmp(words[at], "--") != 0; ++at) {
    size_t found = 0;
    while (found < sizeof calls / sizeof *calls && strcmp(calls[found].name, words[at]) != 0) ++found;
    if (found == sizeof calls / sizeof *calls || length > 2 * MAX - 1) {
      fprintf(stderr, "deny: the system call %s is not in the list of deny.c, or there are too many: see it\n",
              words[at]);
      return 2;
    }
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[found].number, 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  if (at + 1 >= count) {
    fputs("usage: deny CALL... -- COMMAND\n", stderr);
    return 2;
  }
  const struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("deny");
    return 2;
  }
  execvp(words[at + 1], words + at + 1);
  perror(words[at + 1]);
  return 127;
}
