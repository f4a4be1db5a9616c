// The workloads as their manifests have them (workloads/*/workload.toml); the rows are made by
// tests/support/workload_table.py.
#pragma once

#include <ostream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace terrace::test {

struct Workload {
  const char* name;
  const char* tiny;  // sizes: what the program is called with
  const char* test;
  const char* hooked;       // empty: it has no such size
  const char* openmp;       // what threads do to the result: "same", "rounded", "races"; empty: it has one thread
  const char* verified_by;  // expressions, for single lines of what it prints
  const char* time_lines;   // those that differ from run to run; empty: none do
  const char* loop;         // empty: not stated
  int iterations;           // at the size tiny, and its phases in each, a line each
  const char* phases;

  [[nodiscard]] bool has_threads() const { return *openmp != '\0'; }
  [[nodiscard]] bool is_hooked() const { return *hooked != '\0'; }
  [[nodiscard]] bool has_loop() const { return *loop != '\0'; }
};

inline constexpr Workload k_all_workloads[] = {
#include "workload_table.inc"
};

inline void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }

/// The lines that an expression finds, or those that it does not find.
inline std::vector<std::string> lines_of(const std::string& output, const char* expression, bool found) {
  const std::regex wanted(expression);
  std::istringstream in(output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if ((*expression != '\0' && std::regex_search(line, wanted)) == found) lines.push_back(line);
  }
  return lines;
}

inline bool verified(const Workload& workload, const std::string& output) {
  return !lines_of(output, workload.verified_by, true).empty();
}

/// What it prints but for its times.
inline std::vector<std::string> result_of(const Workload& workload, const std::string& output) {
  return lines_of(output, workload.time_lines, false);
}

}  // namespace terrace::test
