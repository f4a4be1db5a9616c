// SPDX-License-Identifier: Apache-2.0
// Identifies code of the injected library (libterrace.so) by its address, and marks the symbols that it exports.
// exports.txt lists the exported names; all other symbols are hidden. Used throughout the agent.
#pragma once

#include <cstdint>

// Marks a function that takes the place of the C library's, or that the program may call.
#define TERRACE_EXPORT __attribute__((visibility("default")))

extern "C" {
// The bounds of the injected library, defined by the linker.
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
}

namespace terrace::agent {

// Returns whether the address is in the injected library. Async-signal-safe.
inline bool is_in_terrace(std::uint64_t address) noexcept {
  return address >= reinterpret_cast<std::uint64_t>(&__ehdr_start) &&
         address < reinterpret_cast<std::uint64_t>(&_end);
}

}  // namespace terrace::agent
