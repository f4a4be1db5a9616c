/* main [SWEEPS]: a main loop of five iterations, in which the program sweeps over its array and a library solves
 * with it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "solver.h"

enum { n = 1 << 18 };

__attribute__((noinline)) static void step(double* values) {
  for (long i = 0; i < n; ++i) values[i] += 1;
}

__attribute__((noinline)) static double outside(const double* values, long sweeps) {
  return solve(values, n, sweeps);
}

/* Creates a child without fork handlers. */
static int raw_child(double* values) {
  const long child = syscall(SYS_fork);
  if (child == 0) {
    memmove(values, values + 1, (n - 1) * sizeof *values);
    syscall(SYS_exit_group, values[0] == values[1] ? 3 : 4);
  }
  int status = 0;
  waitpid((pid_t)child, &status, 0);
  return WEXITSTATUS(status);
}

/* Open descriptors that belong to the kernel's sampling. */
static int samplers(void) {
  int found = 0;
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder && (entry = readdir(folder));) {
    char link[256] = "";
    if (readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1) > 0 && strstr(link, "perf_event")) ++found;
  }
  closedir(folder);
  return found;
}

int main(int count, char** words) {
  const long sweeps = count > 1 ? atol(words[1]) : 1;
  double* values = calloc(n, sizeof *values);
  double* copy = malloc(n * sizeof *copy);
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    step(values);
    sum += outside(values, sweeps);
    memcpy(copy, values, n * sizeof *copy);
  }
  printf("%.17g %.17g, %d samplers, child %d\n", sum, copy[n - 1], samplers(), raw_child(values));
  free(copy);
  free(values);
  return 0;
}
