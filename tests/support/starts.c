/* starts HOW PROGRAM: starts the program by one of the functions that can, and ends as it does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int is(const char* one, const char* other) { return strcmp(one, other) == 0; }

static int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

static int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status_of(status);
}

static char* name_of(char* path) {
  char* const folder = strdup(path);
  setenv("PATH", dirname(folder), 1);
  return basename(path);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const how = argv[1];
  char* const path = argv[2];
  char* words[] = {path, NULL};
  pid_t child = 0;
  if (is(how, "execve")) execve(path, words, environ);
  if (is(how, "execv")) execv(path, words);
  if (is(how, "execvp")) execvp(name_of(path), words);
  if (is(how, "execvpe")) execvpe(name_of(path), words, environ);
  if (is(how, "execl")) execl(path, path, NULL);
  if (is(how, "execlp")) execlp(name_of(path), path, NULL);
  if (is(how, "execle")) execle(path, path, NULL, environ);
  if (is(how, "fexecve")) fexecve(open(path, O_RDONLY | O_CLOEXEC), words, environ);
  if (is(how, "execveat")) execveat(AT_FDCWD, path, words, environ, 0);
  if (is(how, "descriptor")) execveat(open(path, O_PATH | O_CLOEXEC), "", words, environ, AT_EMPTY_PATH);
  if (is(how, "posix_spawn")) return posix_spawn(&child, path, NULL, NULL, words, environ) ? 126 : wait_for(child);
  if (is(how, "posix_spawnp"))
    return posix_spawnp(&child, name_of(path), NULL, NULL, words, environ) ? 126 : wait_for(child);
  if (is(how, "vfork")) {
    child = vfork();
    if (child == 0) {
      execv(path, words);
      _exit(126);
    }
    return wait_for(child);
  }
  if (is(how, "system")) return status_of(system(path));
  perror(how);
  return 126;
}
