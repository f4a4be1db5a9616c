// The one error type of the project. An error is facts: what was asked, what was found, what to do; one line.
#pragma once

#include <stdexcept>
#include <string>

namespace terrace {

enum class Code {
  invalid,  // a wrong call or a file that breaks its schema: the command line exits 2
  not_found,
  no_memory,
  unsupported,  // this machine cannot do it
  corrupt,      // a file is damaged
  failed        // the system refused: the command line exits 1
};

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] Code code() const { return code_; }

 private:
  Code code_;
};

}  // namespace terrace
