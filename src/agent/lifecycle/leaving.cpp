// Ways out of this program: ending at once, and becoming another. The journal says which; a program that is
// started from here is under Terrace, too, whatever environment it is given.
//
// All of this may run in a child of vfork, in its parent's memory: nothing here allocates or takes a lock there.
#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>

#include "agent/interpose/next.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/passed_environment.hpp"

namespace terrace::agent {

namespace {

// Whether execution can be expected to succeed: after finish() there is no way back.
bool can_run(const char* file, bool search) {
  if (!file || !*file) return false;
  if (!search || strchr(file, '/')) return ::access(file, X_OK) == 0;
  const char* path = std::getenv("PATH");
  if (!path) path = "/bin:/usr/bin";
  char candidate[4096];
  while (true) {
    const char* const colon = strchrnul(path, ':');
    const auto length = static_cast<std::size_t>(colon - path);
    if (length + strlen(file) + 2 < sizeof candidate) {
      memcpy(candidate, path, length);
      candidate[length] = '/';
      strcpy(candidate + length + (length > 0 ? 1 : 0), file);
      if (::access(candidate, X_OK) == 0) return true;
    }
    if (*colon == '\0') return false;
    path = colon + 1;
  }
}

// For the variadic forms: the words up to the null pointer, `more` behind it.
std::size_t count_words(const char* first, va_list more) {
  va_list words;
  va_copy(words, more);
  std::size_t n = 0;
  for (const char* word = first; word; word = va_arg(words, const char*)) ++n;
  va_end(words);
  return n;
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

// An array on this function's own stack.
#define TERRACE_ENVIRONMENT(given) \
  agent::passed_environment(given, static_cast<char*>(alloca(agent::room_for(given))))

// Collects `first, ...` into `words`, an array on the stack, and leaves `more` behind the null pointer.
#define TERRACE_WORDS(words, first, more)                                                \
  const auto words##_count = agent::count_words(first, more);                            \
  auto** const words = static_cast<char**>(alloca((words##_count + 1) * sizeof(char*))); \
  words[0] = const_cast<char*>(first);                                                   \
  for (std::size_t i = 1; i <= words##_count; ++i) words[i] = va_arg(more, char*)

extern "C" {

TERRACE_EXPORT void _exit(int status) {
  static constinit agent::Next<void (*)(int)> next{"_exit"};
  agent::finish("quick");
  (*next)(status);
  __builtin_unreachable();
}

TERRACE_EXPORT void _Exit(int status) noexcept { _exit(status); }

TERRACE_EXPORT int execve(const char* file, char* const* words, char* const* environment) noexcept {
  static constinit agent::Next<int (*)(const char*, char* const*, char* const*)> next{"execve"};
  char* const* const passed = TERRACE_ENVIRONMENT(environment);
  if (agent::process() && agent::can_run(file, false)) agent::finish("exec");
  return (*next)(file, words, passed);
}

TERRACE_EXPORT int execvpe(const char* file, char* const* words, char* const* environment) noexcept {
  static constinit agent::Next<int (*)(const char*, char* const*, char* const*)> next{"execvpe"};
  char* const* const passed = TERRACE_ENVIRONMENT(environment);
  if (agent::process() && agent::can_run(file, true)) agent::finish("exec");
  return (*next)(file, words, passed);
}

TERRACE_EXPORT int execv(const char* file, char* const* words) noexcept { return execve(file, words, environ); }
TERRACE_EXPORT int execvp(const char* file, char* const* words) noexcept { return execvpe(file, words, environ); }

TERRACE_EXPORT int execl(const char* file, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  TERRACE_WORDS(words, first, more);
  va_end(more);
  return execve(file, words, environ);
}

TERRACE_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  TERRACE_WORDS(words, first, more);
  va_end(more);
  return execvpe(file, words, environ);
}

TERRACE_EXPORT int execle(const char* file, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  TERRACE_WORDS(words, first, more);
  char* const* const environment = va_arg(more, char* const*);
  va_end(more);
  return execve(file, words, environment);
}

TERRACE_EXPORT int fexecve(int file, char* const* words, char* const* environment) noexcept {
  static constinit agent::Next<int (*)(int, char* const*, char* const*)> next{"fexecve"};
  char* const* const passed = TERRACE_ENVIRONMENT(environment);
  agent::finish("exec");
  return (*next)(file, words, passed);
}

TERRACE_EXPORT int execveat(int folder, const char* file, char* const* words, char* const* environment,
                            int flags) noexcept {
  static constinit agent::Next<int (*)(int, const char*, char* const*, char* const*, int)> next{"execveat"};
  char* const* const passed = TERRACE_ENVIRONMENT(environment);
  if (agent::process() && ((flags & AT_EMPTY_PATH) != 0 || faccessat(folder, file, X_OK, 0) == 0))
    agent::finish("exec");
  return (*next)(folder, file, words, passed, flags);
}

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                      char* const*, char* const*);

TERRACE_EXPORT int posix_spawn(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  static constinit agent::Next<Spawn> next{"posix_spawn"};
  return (*next)(child, file, actions, attributes, words, TERRACE_ENVIRONMENT(environment));
}

TERRACE_EXPORT int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const* words,
                                char* const* environment) {
  static constinit agent::Next<Spawn> next{"posix_spawnp"};
  return (*next)(child, file, actions, attributes, words, TERRACE_ENVIRONMENT(environment));
}

}  // extern "C"
