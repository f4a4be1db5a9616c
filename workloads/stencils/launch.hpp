// Interface of process start-up, which differs between terrace-stencils (one process) and terrace-stencils-mpi.
#pragma once

#include <cstddef>

#include "terrace/stencil.hpp"

namespace terrace::stencil::programs {

class Launch {
 public:
  Launch(int& count, char**& words);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  [[nodiscard]] Context context() const;
  [[nodiscard]] std::size_t ranks() const;
  // Returns whether this process prints.
  [[nodiscard]] bool is_first() const;
  // Prints the error, and ends the other processes if not all have failed; returns the exit status.
  int failed(const char* text, int status) const;
};

}  // namespace terrace::stencil::programs
