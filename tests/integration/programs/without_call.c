/* Runs a program that may not make some of the system's calls, as under a batch system's filter.
 *
 *   without_call CALL PROGRAM [ARGUMENT...]     CALL: mbind, or userfaultfd (and its device), or both: "both"
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)

int main(int count, char** words) {
  if (count < 3) return 2;
  const int all = strcmp(words[1], "both") == 0;
  const int places = all || strcmp(words[1], "mbind") == 0;
  const int faults = all || strcmp(words[1], "userfaultfd") == 0;
  struct sock_filter filter[] = {
      LOAD(nr),      EQUAL(places ? SYS_mbind : 0xffff, 0, 1),
      REFUSE,        EQUAL(faults ? SYS_userfaultfd : 0xffff, 0, 1),
      REFUSE,        EQUAL(faults ? SYS_ioctl : 0xffff, 0, 3),
      LOAD(args[1]), EQUAL(0xaa00, 0, 1), /* USERFAULTFD_IOC_NEW */
      REFUSE,        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("seccomp");
    return 2;
  }
  execvp(words[2], words + 2);
  perror(words[2]);
  return 2;
}
