// Which process it is: its number is given to others once it is dead, so its start time belongs to it, and so does
// what distinguishes the program that it has become by exec.
#pragma once

#include <cstdint>
#include <optional>

namespace terrace::memory {

struct ProcessIdentity {
  std::uint32_t process = 0;
  std::uint32_t space = 0;  // the namespace that its number is of
  std::uint64_t start = 0;  // in clock ticks since the system's start; 0 where the system does not say
  std::uint64_t image = 0;  // another after each exec
  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity this_process() noexcept;

// False where the system says that there is no such process any more. A process that has ended and whose parent
// has not asked for its status counts as alive, and so does another one with the same number.
bool may_be_alive(const ProcessIdentity& who, const ProcessIdentity& asker) noexcept;
// The same with a look at the start time and the state; some 20 us. What the system does not say counts as alive.
bool is_alive(const ProcessIdentity& who, const ProcessIdentity& asker) noexcept;

// Of /proc/PROCESS/stat.
struct ProcessState {
  bool ended = false;               // its memory is free, its parent has not asked for its status
  bool first_thread_ended = false;  // others go on
  std::uint64_t start = 0;
};
std::optional<ProcessState> process_state(std::uint32_t process) noexcept;

}  // namespace terrace::memory
