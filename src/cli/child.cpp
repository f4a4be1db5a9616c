// The child process: start, signals, end. See launch.hpp.
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/journal_folder.hpp"
#include "cli/launch.hpp"

namespace terrace::cli {

namespace {

bool g_size_signal_was_default = false;
volatile pid_t g_child = 0;  // signal handlers have no other way to know it

void pass_on(int signal) {
  if (g_child > 0) kill(g_child, signal);
}

// A terminal sends these to the child as well, so they are passed on only when a process sent them to us.
void pass_on_of_process(int signal, siginfo_t* about, void*) {
  if (about->si_code <= 0) pass_on(signal);  // SI_USER, SI_TKILL, SI_QUEUE; of the kernel: above 0
}

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = pass_on;
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT}) sigaction(signal, &action, nullptr);
  action = {};
  action.sa_sigaction = pass_on_of_process;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGINT, SIGQUIT}) sigaction(signal, &action, nullptr);
}

// While this lives signals wait.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
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

[[noreturn]] void refuse_start(const std::string& program, int problem) {
  throw NotStarted("cannot start " + program + ": " + std::strerror(problem), problem != ENOENT);
}

// Throws NotStarted. The child has the signals as this process was given them: what is ignored stays ignored, as
// in a job of a script that runs in the background.
pid_t spawn(const std::string& program, char** arguments, char** environment) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  if (g_size_signal_was_default) sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  const SignalsWait wait;  // until there is a child to pass them on to
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
  if (problem != 0) refuse_start(program, problem);
  g_child = child;
  handle_signals();
  return child;
}

}  // namespace

void check_can_start(const std::string& program) {
  const auto path = found_in_path(program);
  struct stat found {};
  if (path.find('/') == std::string::npos) refuse_start(program, ENOENT);
  if (stat(path.c_str(), &found) != 0) refuse_start(program, errno);
  if (!S_ISREG(found.st_mode) || access(path.c_str(), X_OK) != 0) refuse_start(program, EACCES);
}

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
  const pid_t child = spawn(words.front(), arguments.data(), environment.data());
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
