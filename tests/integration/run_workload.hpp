// Runs workloads of one directory and parses their result blocks.
#pragma once

#include <sstream>
#include <string>

#include "run_program.hpp"

namespace terrace::test {

inline const std::string k_workloads = TERRACE_WORKLOADS_DIR;

inline Outcome run_workload(const std::string& arguments) { return run_program(k_workloads + "/" + arguments); }

/// Returns the value after `label` and an optional "=" in a result block.
inline std::string field(const std::string& output, const std::string& label) {
  const auto at = output.find(label);
  if (at == std::string::npos) return {};
  std::istringstream rest(output.substr(at + label.size()));
  std::string word;
  rest >> word;
  if (word == "=") rest >> word;
  return word;
}

// Waiting threads must not spin, because the test may have fewer cores than threads.
inline Outcome run_threads(const std::string& arguments, int threads) {
  return run_program("OMP_WAIT_POLICY=passive " + k_workloads + "/openmp/" + arguments + " --threads " +
                     std::to_string(threads));
}

}  // namespace terrace::test
