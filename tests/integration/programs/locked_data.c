// Locks all present and future memory; then uses more. Prints whether its data is locked.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1 << 20)

static long locked(void) {
  char line[256];
  long kib = -1;
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmLck: %ld", &kib);
  if (file) fclose(file);
  return kib;
}

int main(void) {
  static char fixed[8 * MIB];
  char* const before = malloc(16 * MIB);
  memset(before, 1, 16 * MIB);
  if (mlockall(MCL_CURRENT) != 0) {
    perror("mlockall");
    return 1;
  }
  printf("locked: %s\n", locked() >= 8 * 1024 && fixed[0] == 0 ? "yes" : "no");
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    perror("mlockall");
    return 1;
  }
  long sum = 0;
  for (int round = 0; round < 3; ++round) {
    char* const later = malloc(96 * MIB);
    memset(later, 2, 96 * MIB);
    for (int i = 0; i < 96 * MIB; i += 4096) sum += later[i] + before[i % (16 * MIB)];
    free(later);
  }
  printf("sum %ld\n", sum);
  munlockall();
  return 0;
}
