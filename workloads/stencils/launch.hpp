// What terrace-stencils and terrace-stencils-mpi differ in: one process, or those that MPI has started.
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
  // Whether this process is the one that prints.
  [[nodiscard]] bool is_first() const;
  // Prints what went wrong, and ends the other processes where it did not go wrong on all; returns the status.
  int failed(const char* text, int status) const;
};

}  // namespace terrace::stencil::programs
