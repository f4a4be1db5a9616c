// The child process: start, signals, end. See launch.hpp.
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/launch.hpp"

namespace terrace::cli {

namespace {

bool g_size_signal_was_default = false;
volatile pid_t g_child = 0;  // signal handlers have no other way to know it

void pass_on(int signal) {
  if (g_child > 0) kill(g_child, signal);
}

// A terminal sends SIGINT and SIGQUIT to the child as well: there they only must not end us.
void handle_signals() {
  struct sigaction action {};
  action.sa_handler = pass_on;
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT}) sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  for (const int signal : {SIGINT, SIGQUIT}) sigaction(signal, &action, nullptr);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (auto& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Ending run_child(const std::vector<std::string>& command, const std::vector<std::string>& added) {
  auto words = command;
  std::vector<std::string> variables = added;
  for (char** one = environ; *one; ++one) {
    const std::string text(*one);
    const auto name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const auto& mine : added) replaced = replaced || mine.starts_with(name);
    if (!replaced) variables.push_back(text);
  }
  auto arguments = pointers(words);
  auto environment = pointers(variables);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGQUIT}) sigaddset(&defaults, signal);
  if (g_size_signal_was_default) sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  handle_signals();
  pid_t child = 0;
  const int problem =
      posix_spawnp(&child, words.front().c_str(), nullptr, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  if (problem != 0)
    throw NotStarted("cannot start " + words.front() + ": " + std::strerror(problem), problem != ENOENT);
  g_child = child;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status), child};
  return {WEXITSTATUS(status), 0, child};
}

void take_size_limits_as_errors() { g_size_signal_was_default = signal(SIGXFSZ, SIG_IGN) == SIG_DFL; }

int end_like(const Ending& ending) {
  if (ending.signal == 0) return ending.status;
  const struct rlimit no_core { 0, 0 };  // the program's own core file is enough
  setrlimit(RLIMIT_CORE, &no_core);
  signal(ending.signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, ending.signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(ending.signal);
  return ending.status;
}

}  // namespace terrace::cli
