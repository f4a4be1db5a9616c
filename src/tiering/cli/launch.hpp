// SPDX-License-Identifier: Apache-2.0
// Launches a program under Terrace, for `terrace run`, `record` and `simulate`: prepares its session and
// environment, waits for it, merges the journals (logs) of its processes into a profile, and ends as the program
// ended. Also declares the parts of this installation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "core/error.hpp"

namespace terrace::cli {

// Runs the program as the options request, merges its journals, prints the summary. Returns the program's own exit
// status; if a signal killed it, this process dies by the same one. Throws ProgramStartError.
int launch(const LaunchOptions& options);

// The end of a child process.
struct ChildExit {
  int status = 0;   // exit status; 128 + signal if it was killed, as in shells
  int signal = 0;   // that killed it, or 0
  int process = 0;  // its identifier
};

// Error of a program that cannot be started. Terrace then exits as shells do: with 127 if there is no such
// program, with 126 if it cannot be executed.
class ProgramStartError : public Error {
 public:
  ProgramStartError(const std::string& text, bool exists)
      : Error(exists ? Code::failed : Code::not_found, text), status_(exists ? 126 : 127) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

// Throws ProgramStartError if there is no such program, or it may not be executed. Starts nothing.
void check_can_start(const std::string& program);

// Starts `command` with `environment` added and waits for it. Forwards signals sent to this process to the child.
// Throws ProgramStartError.
ChildExit run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment);

// Keeps SIGTERM, SIGINT and SIGHUP until run_child() has a child to forward them to, so that a launch that is
// ended while it is prepared is removed as usual.
void defer_termination();

// Ignores SIGXFSZ, so that a file beyond RLIMIT_FSIZE makes the write fail instead of killing this process.
// Children get the signal's original action.
void ignore_size_limit_signal();

// Ends as the child ended: returns its exit status, or kills this process by the same signal.
int exit_like(const ChildExit& ending);

// Returns the installation's prefix: the folder above that of the executable.
std::string prefix_path();
// Returns the library to preload: libterrace.so, or the one without access collectors for programs whose accesses
// are not observed. Throws Error{not_found}.
std::string library_path(bool observes_accesses);
// Returns the path of the library that interposes MPI (agent/mpi). Throws Error{not_found}.
std::string mpi_library_path();
// Returns the interpreter that has the Python package.
std::string python_command();

// A subcommand and its description in one line.
struct Subcommand {
  std::string name;
  std::string about;
};

// Returns the subcommands of the Python package, sorted by name; nullopt if the package is not found beside its
// interpreter.
std::optional<std::vector<Subcommand>> find_python_subcommands();

// Replaces this process by `python -m terrace SUBCOMMAND ...`. Throws Error{failed} if the interpreter cannot be
// executed.
[[noreturn]] void exec_python(int argc, char** argv);

}  // namespace terrace::cli
