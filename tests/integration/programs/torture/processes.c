/* Child processes: fork from one and from many threads, exec, spawn, deaths by signal, pipes. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture.h"

extern char** environ;

int run_as_child(int argc, char** argv) {
  char line[64] = "";
  if (fgets(line, sizeof line, stdin) == NULL) strcpy(line, "nothing\n");
  printf("child of %d arguments read %s", argc, line);
  fprintf(stderr, "child's error output\n");
  const char* const mark = getenv("TORTURE_MARK");
  return mark == NULL ? 99 : (int)strlen(argv[argc - 1]) + atoi(mark);
}

static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

static void test_fork(void) {
  enum { SIZE = 1 << 20 };
  unsigned char* const memory = malloc(SIZE);
  memset(memory, 3, SIZE);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    /* The child's own memory work must not be seen by the parent. */
    unsigned long sum = 0;
    memset(memory, 1, SIZE / 2);
    for (int i = 0; i < SIZE; ++i) sum += memory[i];
    free(memory);
    free(malloc(12345));
    _exit(sum == SIZE * 2UL ? 7 : 8);
  }
  const int status = wait_for(child);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a forked child works and exits with its status");
  check(memory[0] == 3 && memory[SIZE - 1] == 3, "the parent's memory is its own");
  free(memory);
}

/* Runs this program as a child with `input` on its standard input; reads its standard output into `output`. */
static int run_self(const char* input, char* output, size_t size) {
  int in[2], out[2];
  if (pipe(in) != 0 || pipe(out) != 0) return -1;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (int i = 0; i < 2; ++i) {
      close(in[i]);
      close(out[i]);
    }
    setenv("TORTURE_MARK", "20", 1);
    execl("/proc/self/exe", "torture", "child", "four", (char*)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  const int written = write(in[1], input, strlen(input)) == (ssize_t)strlen(input);
  close(in[1]);
  size_t length = 0;
  ssize_t got;
  while (length + 1 < size && (got = read(out[0], output + length, size - 1 - length)) > 0) length += (size_t)got;
  output[length] = '\0';
  close(out[0]);
  const int status = wait_for(child);
  return written && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_exec(void) {
  char output[256];
  const int status = run_self("hello\n", output, sizeof output);
  check(status == 24, "fork and exec give the child's status");
  check(strcmp(output, "child of 3 arguments read hello\n") == 0, "nothing is added to a child's standard output");

  pid_t child = 0;
  char* const arguments[] = {"sh", "-c", "exit 5", NULL};
  check(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0, "posix_spawn starts a shell");
  const int spawned = wait_for(child);
  check(WIFEXITED(spawned) && WEXITSTATUS(spawned) == 5, "and gives its status");
  fflush(stdout);
  const int shell = system("exit 6");
  check(WIFEXITED(shell) && WEXITSTATUS(shell) == 6, "so does system");
  char* const no_environment[] = {NULL};
  char* const true_arguments[] = {"true", NULL};
  fflush(stdout);
  child = fork();
  if (child == 0) {
    execve("/bin/true", true_arguments, no_environment);
    _exit(127);
  }
  check(wait_for(child) == 0, "exec with an empty environment");
}

static void test_deaths(void) {
  static const int deaths[] = {SIGKILL, SIGTERM, SIGABRT, SIGSEGV};
  int good = 1;
  for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      raise(deaths[i]);
      _exit(0);
    }
    const int status = wait_for(child);
    good &= WIFSIGNALED(status) && WTERMSIG(status) == deaths[i];
  }
  check(good, "a child that dies by a signal is seen to");
}

static volatile int stop;

static void* allocate_until_stopped(void* unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) free(malloc(1000));
  return unused;
}

/* A fork while another thread is inside the allocator: the child must be able to allocate. */
static void test_fork_among_threads(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocate_until_stopped, NULL);
  int good = 1;
  for (int i = 0; i < 20; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      for (int j = 0; j < 100; ++j) free(malloc(1000));
      _exit(11);
    }
    const int status = wait_for(child);
    good &= WIFEXITED(status) && WEXITSTATUS(status) == 11;
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  check(good, "children forked beside a busy thread can allocate");
}

void test_processes(void) {
  test_fork();
  test_exec();
  test_deaths();
  test_fork_among_threads();
}
