// The child process: start, signals, end. See launch.hpp.
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

namespace terrace::cli {

namespace {

bool g_size_signal_was_default = false;
// Signal handlers have no other way to know these.
volatile pid_t g_child = 0;
sigset_t g_left_alone;  // signals that were ignored or blocked when there was no child yet

// What the kernel sends a process because of what that process did.
constexpr int k_own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGXCPU, SIGXFSZ};
// What a terminal sends to all of its foreground process group: to the child as well.
constexpr int k_of_terminal[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};

bool is_one_of(int signal, std::span<const int> signals) {
  return std::ranges::find(signals, signal) != signals.end();
}

// This process caused it.
void have_usual_effect(int number) {
  if (sigismember(&g_left_alone, number) == 1) return;
  signal(number, SIG_DFL);
  raise(number);  // it comes when the handler has returned
}

void pass_on(int number, const siginfo_t& about) {
  if (about.si_code == SI_QUEUE)
    sigqueue(g_child, number, about.si_value);
  else
    kill(g_child, number);
}

void stop_without_child(int number) {
  if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) raise(SIGSTOP);
}

void on_signal(int number, siginfo_t* about, void*) {
  const auto saved = errno;
  const bool is_of_process = about->si_code <= 0;  // SI_USER, SI_TKILL, SI_QUEUE; of the kernel: above 0
  const pid_t child = g_child;
  // For SIGPIPE and SIGXFSZ the kernel says that the process sent them itself.
  if (is_of_process ? about->si_pid == getpid() : is_one_of(number, k_own))
    have_usual_effect(number);
  else if (child <= 0)
    stop_without_child(number);
  else if (is_of_process ? about->si_pid != child : !is_one_of(number, k_of_terminal))  // the child has it already
    pass_on(number, *about);
  errno = saved;
}

// All that can be caught; the C library refuses those that its threads use.
void handle_signals(const sigset_t& blocked_before) {
  g_left_alone = blocked_before;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction before {};
    if (number == SIGCHLD || number == SIGKILL || number == SIGSTOP) continue;
    if (sigaction(number, nullptr, &before) != 0) continue;
    if (before.sa_handler == SIG_IGN) sigaddset(&g_left_alone, number);
    sigaction(number, &action, nullptr);
  }
}

// While this lives signals wait.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    after_ = before_;
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &after_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  [[nodiscard]] const sigset_t& before() const { return before_; }
  // Then those come, too, that were blocked before: the child may wait for them.
  void let_all_come() { sigemptyset(&after_); }

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

// Whether the kernel may have refused a file because no interpreter is named in its first line: then a shell reads
// it (POSIX, "Command Search and Execution"). One with a zero byte in its first line is a program of another
// machine.
bool is_script(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string first(256, '\0');
  if (!in.read(first.data(), static_cast<std::streamsize>(first.size())) && !in.eof()) return false;
  first.resize(static_cast<std::size_t>(in.gcount()));
  return first.substr(0, first.find('\n')).find('\0') == std::string::npos;
}

// Where execvp(3) would find it.
std::string found_in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (auto path = (folder.empty() ? "." : folder) + "/" + program; access(path.c_str(), X_OK) == 0) return path;
  return program;
}

[[noreturn]] void throw_start_error(const std::string& program, int problem) {
  throw ProgramStartError("cannot start " + program + ": " + std::strerror(problem), problem != ENOENT);
}

// Throws ProgramStartError. The child has the signals as this process was given them: what is ignored stays ignored, as
// in a job of a script that runs in the background.
pid_t spawn(const std::string& program, char** arguments, char** environment) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  if (g_size_signal_was_default) sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  SignalsWait wait;  // until there is a child to pass them on to
  posix_spawnattr_setsigmask(&attributes, &wait.before());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  int problem = posix_spawnp(&child, program.c_str(), nullptr, &attributes, arguments, environment);
  const auto path = problem == ENOEXEC ? found_in_path(program) : program;
  if (problem == ENOEXEC && is_script(path)) {
    std::vector<char*> words{const_cast<char*>("/bin/sh"), const_cast<char*>(path.c_str())};
    for (auto* const* word = arguments + 1; *word; ++word) words.push_back(*word);
    words.push_back(nullptr);
    problem = posix_spawn(&child, words.front(), nullptr, &attributes, words.data(), environment);
  }
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) throw_start_error(program, problem);
  g_child = child;
  handle_signals(wait.before());
  wait.let_all_come();
  return child;
}

// Until it has ended. When it stops, so does this process: who waits for this one (a shell's job control) sees it.
int wait_for(pid_t child) {
  int status = 0;
  while (true) {
    const auto found = waitpid(child, &status, WUNTRACED);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0 || !WIFSTOPPED(status)) return status;
    siginfo_t about{};
    const bool continues =
        waitid(P_PID, static_cast<id_t>(child), &about, WCONTINUED | WNOHANG) == 0 && about.si_pid != 0;
    if (!continues) raise(SIGSTOP);
  }
}

}  // namespace

void check_can_start(const std::string& program) {
  const auto path = found_in_path(program);
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
    for (const auto& mine : added) replaced = replaced || mine.starts_with(name);
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

void ignore_size_limit_signal() { g_size_signal_was_default = signal(SIGXFSZ, SIG_IGN) == SIG_DFL; }

int exit_like(const ChildExit& ending) {
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
