// Starts terrace-stencils, one process, with its context. See launch.hpp.
#include <cstdio>

#include "workloads/stencils/launch.hpp"

namespace terrace::stencil::programs {

Launch::Launch(int& /*count*/, char**& /*words*/) {}
Launch::~Launch() = default;
Context Launch::context() const { return Context(); }
std::size_t Launch::ranks() const { return 1; }
bool Launch::is_first() const { return true; }
int Launch::failed(const char* text, int status) const {
  std::fprintf(stderr, "terrace-stencils: %s\n", text);
  return status;
}

}  // namespace terrace::stencil::programs
