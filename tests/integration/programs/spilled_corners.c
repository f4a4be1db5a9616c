// Rare uses of large data: `signal` forks while a handler reads data that may be spilled; `free` calls MADV_FREE
// on locked data, which fails; `shrink` makes a block much smaller; `hold` registers a block with a device
// driver, as far as that is possible without one. Prints the results.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PAGE 4096

static volatile unsigned char* data;
static size_t size;
static volatile unsigned long seen;

static void look(int number) {
  static size_t at;
  (void)number;
  at = (at + 5 * MIB + PAGE) % size;
  seen += data[at];
}

static void* map(size_t bytes) {
  void* const got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) exit(2);
  return got;
}

static int forks_with_signals(void) {
  size = 96 * MIB;
  data = map(size);
  for (size_t i = 0; i < size; i += PAGE) data[i] = 1;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = look;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, NULL);
  int wrong = 0;
  for (int turn = 0; turn < 10; ++turn) {
    const pid_t child = fork();
    if (child == 0) {
      raise(SIGALRM);
      _exit(data[(size_t)turn * MIB] == 1 ? 0 : 1);
    }
    int status = 1;
    while (waitpid(child, &status, 0) < 0) {
    }
    wrong += status != 0;
  }
  printf("%d children wrong, a handler %s\n", wrong, seen > 0 ? "ran" : "did not run");
  return wrong;
}

static long other_than(const unsigned char* block, size_t bytes, unsigned char value) {
  long count = 0;
  for (size_t i = 0; i < bytes; i += PAGE) count += block[i] != value;
  return count;
}

static int frees_locked(void) {
  unsigned char* const locked = map(8 * MIB);
  memset(locked, 1, 8 * MIB);
  if (mlock(locked, 8 * MIB) != 0) return 3;
  printf("MADV_FREE of locked memory: %d\n", madvise(locked, 8 * MIB, MADV_FREE));
  memset(locked, 7, 8 * MIB);
  unsigned char* const others = map(88 * MIB);
  memset(others, 9, 88 * MIB);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(other_than(locked, 8 * MIB, 7) == 0 && other_than(others, 88 * MIB, 9) == 0 ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  printf("the child has %s\n", status == 0 ? "all" : "not all");
  printf("%ld pages wrong\n", other_than(locked, 8 * MIB, 7) + other_than(others, 88 * MIB, 9));
  return 0;
}

static int shrinks(void) {
  unsigned char* const block = malloc(192 * MIB);
  memset(block, 3, 192 * MIB);
  unsigned char* const smaller = realloc(block, 20 * MIB + 5);
  printf("%s, %ld pages wrong\n", smaller == block ? "where it was" : "elsewhere",
         other_than(smaller, 20 * MIB, 3));
  unsigned char* const next = calloc(1, 160 * MIB);
  printf("%ld pages wrong\n", other_than(next, 160 * MIB, 0) + other_than(smaller, 20 * MIB, 3));
  free(smaller);
  free(next);
  return 0;
}

// Parameters of NVIDIA's driver to register memory of the program (its open kernel modules, NVOS02_PARAMETERS).
struct held {
  uint32_t root, parent, itself, kind, flags;
  uint64_t address, last;
  uint32_t status;
  int32_t file __attribute__((aligned(8)));
};

// As the kernel reports it.
static long absent(const unsigned char* block, size_t bytes) {
  const int pages = open("/proc/self/pagemap", O_RDONLY);
  long count = 0;
  for (size_t i = 0; i < bytes; i += PAGE) {
    uint64_t entry = 0;
    if (pread(pages, &entry, sizeof entry, (off_t)(((uintptr_t)block + i) / PAGE * sizeof entry)) != sizeof entry)
      exit(3);
    count += (entry >> 63) == 0;
  }
  close(pages);
  return count;
}

static int holds(void) {
  const size_t untouched = 4 * MIB;
  unsigned char* const block = malloc(64 * MIB + untouched);
  unsigned char* const others = malloc(128 * MIB);
  memset(block, 3, 64 * MIB);
  memset(others, 4, 128 * MIB);
  printf("%s absent before, ", absent(block, 64 * MIB) > 0 ? "some" : "none");
  struct held what = {.kind = 0x71, .address = (uintptr_t)block + 5, .last = 64 * MIB + untouched - 6};
  const int null = open("/dev/null", O_RDWR);
  if (ioctl(null, _IOWR('F', 0x27, struct held), &what) != -1) return 3;
  printf("%ld while they are held, ", absent(block, 64 * MIB + untouched));
  for (int turn = 0; turn < 3; ++turn)
    if (other_than(others, 128 * MIB, 4) > 0) return 4;
  printf("%ld later; %ld pages wrong\n", absent(block, 64 * MIB + untouched), other_than(block, 64 * MIB, 3));
  free(block);
  unsigned char* const next = calloc(1, 96 * MIB);
  printf("%ld pages wrong\n", other_than(next, 96 * MIB, 0) + other_than(others, 128 * MIB, 4));
  free(next);
  free(others);
  return 0;
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  if (strcmp(what, "signal") == 0) return forks_with_signals();
  if (strcmp(what, "free") == 0) return frees_locked();
  if (strcmp(what, "shrink") == 0) return shrinks();
  if (strcmp(what, "hold") == 0) return holds();
  return 2;
}
