// Launching: the session's folder, the environment of the program, waiting for it, passing on how it ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "core/error.hpp"

namespace terrace::cli {

// Runs the program as the options say, merges its journals, prints the summary. Returns the program's own exit
// status; when it died by a signal, this process dies by the same one. Throws NotStarted.
int launch(const LaunchOptions& options);

// How a child ended.
struct Ending {
  int status = 0;  // exit status
  int signal = 0;  // that killed it, or 0
  int process = 0;
};

// The program cannot be started. Terrace then ends as shells do: with 127 where there is no such program, with 126
// where it is none that can be run.
class NotStarted : public Error {
 public:
  NotStarted(const std::string& text, bool is_there)
      : Error(is_there ? Code::failed : Code::not_found, text), status_(is_there ? 126 : 127) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

// Throws NotStarted where there is no such program, or none that may be run. Starts nothing.
void check_can_start(const std::string& program);

// Starts `command` with `environment` added and waits for it. Signals sent to this process go to the child.
// Throws NotStarted.
Ending run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment);

// A file of this process that may not grow (RLIMIT_FSIZE) is an error of the write from now on; children have it
// as it was.
void take_size_limits_as_errors();

// Ends this process as the child ended: same status, or same signal.
int end_like(const Ending& ending);

// Where the parts of this installation are, relative to the executable (or the build tree).
std::string prefix_path();  // above the executable's folder
// What enters the program: libterrace.so, or the one for programs whose accesses nobody follows.
std::string library_path(bool is_followed);
std::string python_command();  // the interpreter that has the package

// A verb of the Python package, and what it is for.
struct Verb {
  std::string name;
  std::string about;
};

// The verbs that analyse, by name; nothing where the package is not beside its interpreter.
std::optional<std::vector<Verb>> python_verbs();

// Becomes `python -m terrace VERB ...`; throws Error{failed} when there is no interpreter.
[[noreturn]] void become_python(int argc, char** argv);

}  // namespace terrace::cli
