// SPDX-License-Identifier: Apache-2.0
// Opens userfaultfd(2) descriptors that also trap faults inside system calls. The pager, page exchanges, sentinels
// and first-touch traps use them.
#pragma once

#include <cstdint>
#include <string>

namespace terrace {

inline constexpr std::uint64_t k_userfault_move = 1U << 16U;   // UFFD_FEATURE_MOVE, since Linux 6.8
inline constexpr std::uint64_t k_userfault_remap = 1U << 2U;   // UFFD_FEATURE_EVENT_REMAP
inline constexpr std::uint64_t k_userfault_thread = 1U << 8U;  // UFFD_FEATURE_THREAD_ID

// Returns why userfaultfd failed with `error` (an errno value), as the end of a sentence of a user's message.
std::string why_no_userfault(int error);

// Opens a descriptor with these features, by the system call or by /dev/userfaultfd. It is closed on exec and
// non-blocking. Allocates nothing. Returns the descriptor or -errno:
//
//   EINVAL         the kernel lacks a feature
//   EPERM, EACCES  this process may use neither the system call nor the device
//
// `user_mode_only` opens a descriptor that traps no faults inside system calls (Linux 5.11), which needs no
// privilege. It suffices where the kernel itself resolves such faults.
int open_userfault(std::uint64_t features, bool user_mode_only = false) noexcept;

}  // namespace terrace
