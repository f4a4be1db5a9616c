// SPDX-License-Identifier: Apache-2.0
// Maps sampled code addresses to the entry of their function.
#pragma once

#include <cstdint>
#include <map>

namespace terrace::agent {

struct Process;

// Uses the symbol files, or else the exported symbols of a library: a distribution's program may keep all its
// code in a system library without a symbol file. Run-time libraries (libc and similar) are excluded, because
// their work counts as their caller's. Not thread-safe.
class FunctionStarts {
 public:
  explicit FunctionStarts(Process& process) : process_(process) {}

  // Returns the entry address, or 0 if unknown. May take the dynamic linker's lock. Throws std::bad_alloc.
  std::uint64_t find(std::uint64_t address);

 private:
  std::uint64_t find_exported(std::uint64_t address);

  Process& process_;
  std::map<std::uint64_t, std::uint64_t>
      exported_;  // begin -> end; a cache, because dladdr1(3) searches a library's whole table
};

}  // namespace terrace::agent
