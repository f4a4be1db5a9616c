// SPDX-License-Identifier: Apache-2.0
// Defines the exception type of the project, which all modules throw and the command line prints. Its text is one
// line that states what was asked, what was found and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace terrace {

enum class Code {
  invalid,  // wrong call, or a file that violates its schema: the command line exits 2
  not_found,
  no_memory,
  unsupported,  // not possible on this machine
  corrupt,      // damaged file
  failed        // the operating system refused: the command line exits 1
};

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] Code code() const { return code_; }

 private:
  Code code_;
};

}  // namespace terrace
