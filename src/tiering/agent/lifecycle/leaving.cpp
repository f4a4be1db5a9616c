// SPDX-License-Identifier: Apache-2.0
// Interposes immediate exit (_exit) and the execution of another program (exec, posix_spawn). The journal records
// how the run ended. A program that is executed from here runs under Terrace, too, whatever environment it is
// given.
//
// May run in a child of vfork(2), in its parent's memory: must not allocate or take locks there.
#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>

#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/passed_environment.hpp"
#include "agent/linking/next.hpp"

namespace terrace::agent {

namespace {

// Inspects the program that execve(2) or posix_spawn(3) is about to start.
class NextProgram {
 public:
  NextProgram(const char* file, bool search) noexcept
      : path_(!search                                                          ? file
              : find_program(file, std::getenv("PATH"), found_, sizeof found_) ? found_
                                                                               : nullptr),
        loader_(path_ ? path_ : "") {}

  // Returns whether execution can be expected to succeed. Checked first, because finish() cannot be undone.
  [[nodiscard]] bool can_run() const noexcept { return path_ && ::access(path_, X_OK) == 0; }
  [[nodiscard]] const ProgramLoader& loader() const noexcept { return loader_; }
  void note_unobserved() const noexcept {
    if (path_ && can_run()) agent::note_unobserved(path_, loader_);
  }

 private:
  char found_[4096];
  const char* path_;  // of the program found; null: PATH has no such program
  ProgramLoader loader_;
};

// Returns a name for a program without a path. The kernel permits an empty argument vector.
[[gnu::noinline]] const char* first_word(char* const* words) { return words && *words ? *words : "a program"; }

// Not inlined: headers declare the argument nonnull, so that the compiler would drop the test; the kernel permits
// null.
[[gnu::noinline]] bool is_empty(const char* file) { return file && *file == '\0'; }

// Counts the arguments of a variadic exec function, up to the null pointer.
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

// Builds the environment in the calling function's stack frame.
#define TERRACE_ENVIRONMENT(given, loader) \
  agent::passed_environment(given, loader, static_cast<char*>(alloca(agent::passed_environment_size(given))))

// Collects `first, ...` into `words`, an array on the stack, and leaves `more` behind the null pointer.
#define TERRACE_WORDS(words, first, more)                                                \
  const auto words##_count = agent::count_words(first, more);                            \
  auto** const words = static_cast<char**>(alloca((words##_count + 1) * sizeof(char*))); \
  words[0] = const_cast<char*>(first);                                                   \
  for (std::size_t i = 1; i <= words##_count; ++i) words[i] = va_arg(more, char*)

extern "C" {

TERRACE_EXPORT void _exit(int status) {
  static constinit agent::NextFunction<void (*)(int)> next{"_exit"};
  agent::finish_process("quick");
  (*next)(status);
  __builtin_unreachable();
}

TERRACE_EXPORT void _Exit(int status) noexcept { _exit(status); }

// Ends the run in the journal before the kernel replaces the program, as all variants of exec here do.
TERRACE_EXPORT int execve(const char* file, char* const* words, char* const* environment) noexcept {
  static constinit agent::NextFunction<int (*)(const char*, char* const*, char* const*)> next{"execve"};
  const agent::NextProgram program(file, false);
  char* const* const passed = TERRACE_ENVIRONMENT(environment, program.loader());
  program.note_unobserved();
  if (agent::process() && program.can_run()) agent::finish_process("exec");
  return (*next)(file, words, passed);
}

TERRACE_EXPORT int execvpe(const char* file, char* const* words, char* const* environment) noexcept {
  static constinit agent::NextFunction<int (*)(const char*, char* const*, char* const*)> next{"execvpe"};
  const agent::NextProgram program(file, true);
  char* const* const passed = TERRACE_ENVIRONMENT(environment, program.loader());
  program.note_unobserved();
  if (agent::process() && program.can_run()) agent::finish_process("exec");
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

// Executes the program of an open file. Its path is unknown, so reports name it by its first argument.
TERRACE_EXPORT int fexecve(int file, char* const* words, char* const* environment) noexcept {
  static constinit agent::NextFunction<int (*)(int, char* const*, char* const*)> next{"fexecve"};
  const terrace::ProgramLoader loader(file);
  char* const* const passed = TERRACE_ENVIRONMENT(environment, loader);
  agent::note_unobserved(agent::first_word(words), loader);
  agent::finish_process("exec");
  return (*next)(file, words, passed);
}

TERRACE_EXPORT int execveat(int folder, const char* file, char* const* words, char* const* environment,
                            int flags) noexcept {
  static constinit agent::NextFunction<int (*)(int, const char*, char* const*, char* const*, int)> next{
      "execveat"};
  const bool is_itself = agent::is_empty(file) && (flags & AT_EMPTY_PATH) != 0;
  const int opened = is_itself ? -1 : openat(folder, file, O_PATH | O_CLOEXEC);
  const terrace::ProgramLoader loader(is_itself ? folder : opened);
  if (opened >= 0) close(opened);
  char* const* const passed = TERRACE_ENVIRONMENT(environment, loader);
  agent::note_unobserved(is_itself ? agent::first_word(words) : file, loader);
  if (agent::process() && (is_itself || faccessat(folder, file, X_OK, 0) == 0)) agent::finish_process("exec");
  return (*next)(folder, file, words, passed, flags);
}

using PosixSpawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                           char* const*, char* const*);

TERRACE_EXPORT int posix_spawn(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  static constinit agent::NextFunction<PosixSpawn> next{"posix_spawn"};
  const agent::NextProgram program(file, false);
  program.note_unobserved();
  return (*next)(child, file, actions, attributes, words, TERRACE_ENVIRONMENT(environment, program.loader()));
}

TERRACE_EXPORT int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const* words,
                                char* const* environment) {
  static constinit agent::NextFunction<PosixSpawn> next{"posix_spawnp"};
  const agent::NextProgram program(file, true);
  program.note_unobserved();
  return (*next)(child, file, actions, attributes, words, TERRACE_ENVIRONMENT(environment, program.loader()));
}

}  // extern "C"
