/* refuse CALL=ERROR ... -- PROGRAM [arguments]: the program runs where the kernel refuses these system calls, as
 * in a container or a batch system with a seccomp filter. */
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

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE AUDIT_ARCH_AARCH64
#endif

static const struct {
  const char* name;
  int value;
} calls[] = {{"perf_event_open", SYS_perf_event_open},
             {"userfaultfd", SYS_userfaultfd},
             {"ptrace", SYS_ptrace},
             {"process_vm_readv", SYS_process_vm_readv},
             {"mbind", SYS_mbind},
             {"move_pages", SYS_move_pages},
             {"get_mempolicy", SYS_get_mempolicy},
             {"set_mempolicy", SYS_set_mempolicy},
             {"io_uring_setup", SYS_io_uring_setup},
             {"mincore", SYS_mincore},
             {"madvise", SYS_madvise},
             {"sched_getaffinity", SYS_sched_getaffinity},
             {"memfd_create", SYS_memfd_create}},
  errors[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EACCES", EACCES}};

#define FIND(table, word) find(table, sizeof table / sizeof table[0], word)

static int find(const void* table, size_t count, const char* word) {
  const struct {
    const char* name;
    int value;
  }* const entries = table;
  for (size_t i = 0; i < count; ++i)
    if (strcmp(entries[i].name, word) == 0) return entries[i].value;
  fprintf(stderr, "refuse: %s is not known\n", word);
  return -1;
}

int main(int count, char** words) {
  struct sock_filter code[64];
  size_t n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 1, 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  int at = 1;
  for (; at < count && strcmp(words[at], "--") != 0 && n + 3 < sizeof code / sizeof code[0]; ++at) {
    char* const error = strchr(words[at], '=');
    if (!error) break;
    *error = '\0';
    const int number = FIND(calls, words[at]), answer = FIND(errors, error + 1);
    if (number < 0 || answer < 0) return 2;
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)answer);
  }
  if (at + 1 >= count || strcmp(words[at], "--") != 0) {
    fputs("usage: refuse CALL=ERROR ... -- PROGRAM [arguments]\n", stderr);
    return 2;
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {(unsigned short)n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("refuse");
    return 2;
  }
  execvp(words[at + 1], words + at + 1);
  perror(words[at + 1]);
  return 127;
}
