// A program with two big objects, for runs in which something goes wrong while its data moves:
//
//   victim plain|fork|kill ITERATIONS
//
// Every iteration has the phases "left" and "right", and adds one to each page of both objects. With "fork" a
// child is made in each phase, while moves are under way, and checks and changes its copy; with "kill" the program
// kills itself (SIGKILL) in the middle of its iterations. Ends with status 7 when all sums are right, else 1.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { k_page = 4096, k_pages = 512, k_words = k_page / sizeof(uint64_t), k_right = 7, k_wrong = 1 };

__attribute__((noinline)) static uint64_t* make_first(void) { return calloc(k_pages, k_page); }
__attribute__((noinline)) static uint64_t* make_second(void) { return calloc(k_pages, k_page); }

static void add_one(uint64_t* object) {
  for (size_t page = 0; page < k_pages; ++page) object[page * k_words + page % k_words] += 1;
}

static int all_are(const uint64_t* object, uint64_t value) {
  for (size_t page = 0; page < k_pages; ++page)
    if (object[page * k_words + page % k_words] != value) return 0;
  return 1;
}

static int child_is_right(uint64_t* first, uint64_t* second, uint64_t value) {
  const pid_t child = fork();
  if (child == 0) {
    const int right = all_are(first, value) && all_are(second, value);
    add_one(first);
    add_one(second);
    _exit(right && all_are(first, value + 1) && all_are(second, value + 1) ? k_right : k_wrong);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == k_right;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int forks = strcmp(argv[1], "fork") == 0;
  const int kills = strcmp(argv[1], "kill") == 0;
  const uint64_t iterations = strtoull(argv[2], NULL, 10);
  void (*loop_begin)(const char*);
  void (*phase)(const char*);
  void (*loop_end)(void);
  *(void**)&loop_begin = dlsym(RTLD_DEFAULT, "terrace_loop_begin");
  *(void**)&phase = dlsym(RTLD_DEFAULT, "terrace_phase");
  *(void**)&loop_end = dlsym(RTLD_DEFAULT, "terrace_loop_end");
  if (!loop_begin || !phase || !loop_end) return 3;  // not under Terrace
  uint64_t* const first = make_first();
  uint64_t* const second = make_second();
  loop_begin("main");
  for (uint64_t i = 0; i < iterations; ++i) {
    phase("left");
    if (forks && !child_is_right(first, second, i)) return k_wrong;
    if (kills && i == iterations / 2) kill(getpid(), SIGKILL);
    add_one(first);
    phase("right");
    add_one(second);
    if (forks && !child_is_right(first, second, i + 1)) return k_wrong;
  }
  loop_end();
  const int right = all_are(first, iterations) && all_are(second, iterations);
  puts(right ? "sums are right" : "sums are wrong");
  free(first);
  free(second);
  return right ? k_right : k_wrong;
}
