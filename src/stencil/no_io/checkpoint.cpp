// SPDX-License-Identifier: Apache-2.0
// Replaces io/ in Terrace's Python module, which is built without HDF5: every function of Checkpoint throws
// Error{unsupported}. See terrace/stencil/hdf5.hpp.
#include "core/error.hpp"
#include "terrace/stencil/hdf5.hpp"

namespace terrace::stencil {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(
      Code::unsupported,
      what + ": checkpoints need HDF5, without which this library was built: run terrace-stencils instead");
}

}  // namespace

std::int64_t Checkpoint::integer(const std::string& name) const { refuse(name); }
double Checkpoint::real(const std::string& name) const { refuse(name); }
void Checkpoint::write(const std::string& path) const { refuse(path); }
void Checkpoint::restore(const std::string& path) { refuse(path); }

}  // namespace terrace::stencil
