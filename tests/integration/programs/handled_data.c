// More data than memory, which fork handlers change before and after the fork, in parent and child.
//
//   handled_data MIB     prints what parent and children found
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork_handlers.h"

static size_t wrong(uint64_t visits) {
  size_t count = 0;
  for (size_t i = 0; i < handled_words; ++i)
    count += handled[i] != i * 0x9e3779b97f4a7c15 + (i % 512 ? 0 : visits);
  return count;
}

int main(int count, char** arguments) {
  const size_t words = (size_t)(count > 1 ? atol(arguments[1]) : 8) * (1 << 20) / sizeof *handled;
  uint64_t* const data = malloc(words * sizeof *data);
  for (size_t i = 0; i < words; ++i) data[i] = i * 0x9e3779b97f4a7c15;
  handled = data;
  handled_words = words;
  register_more();
  for (uint64_t round = 0; round < 2; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(wrong(4 * round + 4) == 0 ? 5 : 6);
    int status = 0;
    waitpid(child, &status, 0);
    printf("%zu %x\n", wrong(4 * round + 4), (unsigned)status);
  }
  free(data);
  return 0;
}
