// SPDX-License-Identifier: Apache-2.0
// Defines what the emulated calls on spilled memory share: addresses as numbers, and system calls that return errno
// values. For spilled_mappings.cpp and spilled_remap.cpp.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace terrace::agent {

inline constexpr int k_read_write = PROT_READ | PROT_WRITE;
inline constexpr int k_anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

inline std::uint64_t number(const void* address) noexcept { return reinterpret_cast<std::uint64_t>(address); }
inline void* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Executes a system call. Returns 0 or an errno value.
template <class... Arguments>
int ask(long call, Arguments... arguments) noexcept {
  return syscall(call, arguments...) == -1 ? errno : 0;
}

}  // namespace terrace::agent
