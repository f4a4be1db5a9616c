// SPDX-License-Identifier: Apache-2.0
// Identifies a process beyond its number, which is reused after its death: by number, PID namespace, start time,
// and a value that changes with each exec. Ledgers record the owners of their slots so.
#pragma once

#include <cstdint>
#include <optional>

namespace terrace::memory {

struct ProcessIdentity {
  std::uint32_t process = 0;
  std::uint32_t space = 0;  // inode of its PID namespace
  std::uint64_t start = 0;  // clock ticks since boot; 0: unknown
  std::uint64_t image = 0;  // random value that changes with each exec
  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity this_process() noexcept;

// Returns false if kill(2) reports that the process does not exist. A zombie counts as alive, and so does another
// process that has got the same number.
bool may_be_alive(const ProcessIdentity& who, const ProcessIdentity& self) noexcept;
// Also compares start time and state, which takes some 20 us. If these cannot be read, the process counts as
// alive.
bool is_alive(const ProcessIdentity& who, const ProcessIdentity& self) noexcept;

// State of a process from /proc/PROCESS/stat (proc(5)).
struct ProcessState {
  bool ended = false;               // zombie: its memory is freed
  bool first_thread_ended = false;  // other threads still run
  std::uint64_t start = 0;
};
std::optional<ProcessState> process_state(std::uint32_t process) noexcept;

}  // namespace terrace::memory
