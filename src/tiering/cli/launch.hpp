// Launching: the session's folder, the environment of the program, waiting for it, passing on how it ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "core/error.hpp"

namespace terrace::cli {

// Runs the program as the options say, merges its journals, prints the summary. Returns the program's own exit
// status; when it died by a signal, this process dies by the same one. Throws ProgramStartError.
int launch(const LaunchOptions& options);

// How a child ended.
struct ChildExit {
  int status = 0;  // exit status
  int signal = 0;  // that killed it, or 0
  int process = 0;
};

// The program cannot be started. Terrace then ends as shells do: with 127 where there is no such program, with 126
// where it is none that can be run.
class ProgramStartError : public Error {
 public:
  ProgramStartError(const std::string& text, bool is_there)
      : Error(is_there ? Code::failed : Code::not_found, text), status_(is_there ? 126 : 127) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

// Throws ProgramStartError where there is no such program, or none that may be run. Starts nothing.
void check_can_start(const std::string& program);

// Starts `command` with `environment` added and waits for it. Signals sent to this process go to the child.
// Throws ProgramStartError.
ChildExit run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment);

// A file of this process that may not grow (RLIMIT_FSIZE) is an error of the write from now on; children have it
// as it was.
void ignore_size_limit_signal();

// Ends this process as the child ended: same status, or same signal.
int exit_like(const ChildExit& ending);

// Where the parts of this installation are, relative to the executable (or the build tree).
std::string prefix_path();  // above the executable's folder
// What enters the program: libterrace.so, or the one for programs whose accesses nobody follows.
std::string library_path(bool is_followed);
std::string python_command();  // the interpreter that has the package

// A subcommand of the Python package, and what it is for.
struct Subcommand {
  std::string name;
  std::string about;
};

// The subcommands that analyse, by name; nothing where the package is not beside its interpreter.
std::optional<std::vector<Subcommand>> find_python_subcommands();

// Becomes `python -m terrace VERB ...`; throws Error{failed} when there is no interpreter.
[[noreturn]] void exec_python(int argc, char** argv);

}  // namespace terrace::cli
