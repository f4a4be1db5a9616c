// More data than memory: two threads sweep over blocks, grow them, read files into them, and fork children.
//
//   large_data MIB [wait]     prints a checksum; with `wait`, prints its process id and waits forever
//                             once the data exists
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 4 };

static uint64_t* data;
static size_t words;

static void* sweep(void* half) {
  const size_t first = half ? words / 2 : 0;
  const size_t end = half ? words : words / 2;
  uint64_t sum = 0;
  for (int round = 0; round < ROUNDS; ++round)
    for (size_t i = first; i < end; ++i) {
      sum = sum * 31 + data[i];
      data[i] += (uint64_t)round;
    }
  uint64_t* const answer = malloc(sizeof *answer);
  *answer = sum;
  return answer;
}

int main(int count, char** arguments) {
  const size_t mib = count > 1 ? (size_t)atol(arguments[1]) : 64;
  words = mib / 2 * (1 << 20) / sizeof *data;
  data = calloc(words, sizeof *data);
  for (size_t i = 0; i < words; ++i) data[i] = i * 0x9e3779b97f4a7c15;
  data = realloc(data, 2 * words * sizeof *data);
  for (size_t i = words; i < 2 * words; ++i) data[i] = data[i - words] ^ i;
  words *= 2;
  if (count > 2 && strcmp(arguments[2], "wait") == 0) {
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;) pause();
  }
  pthread_t other;
  pthread_create(&other, NULL, sweep, data);
  uint64_t* const mine = sweep(NULL);
  void* others = NULL;
  pthread_join(other, &others);
  const int zeros = open("/dev/zero", O_RDONLY);
  const ssize_t got = read(zeros, data + words / 3, 4 << 20);  // into chunks that may be anywhere
  close(zeros);
  const uintptr_t middle = ((uintptr_t)(data + words / 2) + 4095) / 4096 * 4096;
  if (madvise((void*)middle, 5 << 20, MADV_DONTNEED) != 0) puts("not given back");
  for (size_t i = 0; i < (5 << 20) / sizeof *data; ++i)
    if (((uint64_t*)middle)[i] != 0) puts("given back, and not zero");
  for (size_t i = words / 2; i < words / 2 + (6 << 20) / sizeof *data; ++i) data[i] = i;
  uint64_t sum = *mine ^ *(uint64_t*)others;
  for (size_t i = 0; i < words; i += 7) sum = sum * 17 + data[i];
  if (system("exit 3") != 3 << 8) puts("no child");  // begins another program
  uint64_t all = 0;
  for (size_t i = 0; i < words; i += 512) all = all * 17 + data[i];
  const pid_t child = fork();
  if (child == 0) {  // it has all of it, and may change it
    uint64_t seen = 0;
    for (size_t i = 0; i < words; i += 512) seen = seen * 17 + data[i]++;
    data = realloc(data, (words + (1 << 20)) * sizeof *data);
    free(data);
    _exit(seen == all ? 5 : 6);
  }
  for (size_t i = 0; i < words; i += 512) data[i] ^= 1;
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) puts("the child did not end well");
  printf("%llx %zd %d\n", (unsigned long long)sum, got, WEXITSTATUS(status));
  free(data);
  return 0;
}
