// SPDX-License-Identifier: Apache-2.0
// Starts the program as a child process of the launcher, forwards signals to it, and reports its end. See
// launch.hpp.
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>

#include "cli/journal_folder.hpp"
#include "cli/launch.hpp"
#include "core/errno_scope.hpp"

namespace terrace::cli {

namespace {

bool g_size_signal_was_default = false;
// Global, because signal handlers read them.
volatile pid_t g_child = 0;
volatile sig_atomic_t g_deferred = 0;  // signal that arrived before there was a child
sigset_t g_suppressed;                 // signals that were ignored or blocked before the child was started

// Signals that the kernel sends because of the receiving process's own action.
constexpr int k_synchronous[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP,
                                 SIGSYS,  SIGABRT, SIGPIPE, SIGXCPU, SIGXFSZ};
// Signals that a terminal sends to its whole foreground process group, the child included.
constexpr int k_terminal[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};

bool is_one_of(int signal, std::span<const int> signals) {
  return std::ranges::find(signals, signal) != signals.end();
}

// Applies the default action of a signal that this process caused. Async-signal-safe.
void apply_default_action(int number) {
  if (sigismember(&g_suppressed, number) == 1) return;
  signal(number, SIG_DFL);
  raise(number);  // delivered when the handler returns
}

// Forwards a signal to the child, with its value if it was queued. Async-signal-safe.
void forward(int number, const siginfo_t& info) {
  if (info.si_code == SI_QUEUE)
    sigqueue(g_child, number, info.si_value);
  else
    kill(g_child, number);
}

void stop_without_child(int number) {
  if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) raise(SIGSTOP);
}

// Signal handler of the launcher: forwards to the child what the child has not received itself.
void on_signal(int number, siginfo_t* info, void*) {
  const ErrnoScope errno_scope;
  const bool is_of_process = info->si_code <= 0;  // SI_USER, SI_TKILL, SI_QUEUE; the kernel's codes are above 0
  const pid_t child = g_child;
  // The kernel marks SIGPIPE and SIGXFSZ as sent by the process itself.
  if (is_of_process ? info->si_pid == getpid() : is_one_of(number, k_synchronous))
    apply_default_action(number);
  else if (child <= 0)
    stop_without_child(number);
  else if (is_of_process ? info->si_pid != child : !is_one_of(number, k_terminal))  // the child has it already
    forward(number, *info);
}

// Installs the handler for all signals that can be caught; the C library refuses those that its threads use.
void install_handlers(const sigset_t& blocked_before) {
  g_suppressed = blocked_before;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction before {};
    if (number == SIGCHLD || number == SIGKILL || number == SIGSTOP) continue;
    if (sigaction(number, nullptr, &before) != 0) continue;
    if (before.sa_handler == SIG_IGN) sigaddset(&g_suppressed, number);
    sigaction(number, &action, nullptr);
  }
}

// Blocks all signals during its lifetime.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    after_ = before_;
  }
  ~ScopedSignalBlock() { pthread_sigmask(SIG_SETMASK, &after_, nullptr); }
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;
  [[nodiscard]] const sigset_t& before() const { return before_; }
  // Makes the destructor unblock all signals, those too that were blocked before: they must be forwarded to the
  // child.
  void unblock_all_at_end() { sigemptyset(&after_); }

 private:
  sigset_t before_{};
  sigset_t after_{};
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (auto& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Returns whether a file that the kernel refused (ENOEXEC) is a script without an interpreter line, which a shell
// must run (POSIX, "Command Search and Execution"). A zero byte in the first line means a program of another
// machine.
bool is_script(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string first(256, '\0');
  if (!in.read(first.data(), static_cast<std::streamsize>(first.size())) && !in.eof()) return false;
  first.resize(static_cast<std::size_t>(in.gcount()));
  return first.substr(0, first.find('\n')).find('\0') == std::string::npos;
}

// Returns the path of a program as execvp(3) finds it.
std::string find_in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (auto path = (folder.empty() ? "." : folder) + "/" + program; access(path.c_str(), X_OK) == 0) return path;
  return program;
}

[[noreturn]] void throw_start_error(const std::string& program, int problem) {
  throw ProgramStartError("cannot start " + program + ": " + std::strerror(problem), problem != ENOENT);
}

// Starts the child. It inherits the signal mask and the ignored signals of this process, as a background job of a
// script needs. Throws ProgramStartError.
pid_t spawn(const std::string& program, char** arguments, char** environment) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  if (g_size_signal_was_default) sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  ScopedSignalBlock block;  // until there is a child to forward them to
  posix_spawnattr_setsigmask(&attributes, &block.before());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  int problem = posix_spawnp(&child, program.c_str(), nullptr, &attributes, arguments, environment);
  const auto path = problem == ENOEXEC ? find_in_path(program) : program;
  if (problem == ENOEXEC && is_script(path)) {
    std::vector<char*> words{const_cast<char*>("/bin/sh"), const_cast<char*>(path.c_str())};
    for (auto* const* word = arguments + 1; *word; ++word) words.push_back(*word);
    words.push_back(nullptr);
    problem = posix_spawn(&child, words.front(), nullptr, &attributes, words.data(), environment);
  }
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) throw_start_error(program, problem);
  g_child = child;
  install_handlers(block.before());
  if (g_deferred != 0) kill(child, g_deferred);
  g_deferred = 0;
  block.unblock_all_at_end();
  return child;
}

// Waits until the child has ended and returns its wait status. Stops this process when the child stops, so that a
// shell's job control sees it.
int wait_for(pid_t child) {
  int status = 0;
  while (true) {
    const auto found = waitpid(child, &status, WUNTRACED);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0 || !WIFSTOPPED(status)) return status;
    siginfo_t info{};
    const bool continued =
        waitid(P_PID, static_cast<id_t>(child), &info, WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
    if (!continued) raise(SIGSTOP);
  }
}

}  // namespace

void check_can_start(const std::string& program) {
  const auto path = find_in_path(program);
  struct stat found {};
  if (path.find('/') == std::string::npos) throw_start_error(program, ENOENT);
  if (stat(path.c_str(), &found) != 0) throw_start_error(program, errno);
  if (!S_ISREG(found.st_mode) || access(path.c_str(), X_OK) != 0) throw_start_error(program, EACCES);
}

ChildExit run_child(const std::vector<std::string>& command, const std::vector<std::string>& added) {
  auto words = command;
  std::vector<std::string> variables = added;
  for (char** one = environ; *one; ++one) {
    const std::string text(*one);
    const auto name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const auto& variable : added) replaced = replaced || variable.starts_with(name);
    if (!replaced) variables.push_back(text);
  }
  auto arguments = pointers(words);
  auto environment = pointers(variables);
  const pid_t child = spawn(words.front(), arguments.data(), environment.data());
  const int status = wait_for(child);
  g_child = 0;
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status), child};
  return {WEXITSTATUS(status), 0, child};
}

void defer_termination() {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = [](int signal) { g_deferred = signal; };
    sigaction(number, &action, nullptr);
  }
}

void ignore_size_limit_signal() { g_size_signal_was_default = signal(SIGXFSZ, SIG_IGN) == SIG_DFL; }

int exit_like(const ChildExit& ending) {
  if (ending.signal == 0) return ending.status;
  const struct rlimit no_core { 0, 0 };  // the program has dumped its own core
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
