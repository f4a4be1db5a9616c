// Runs a command for a test, and returns its output and status.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace terrace::test {

struct Outcome {
  int status;  // exit status, or 128 + the signal that ended it
  std::string output;
};

/// Runs `command` in the shell. Captures its standard output; standard error passes through.
inline Outcome run_program(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start: " + command);
  Outcome outcome{0, {}};
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.output.append(buffer, got);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace terrace::test
