// userfaultfd(2), where faults inside system calls are waited for as well.
#pragma once

#include <cstdint>
#include <string>

namespace terrace {

inline constexpr std::uint64_t k_userfault_move = 1U << 16U;   // UFFD_FEATURE_MOVE, since Linux 6.8
inline constexpr std::uint64_t k_userfault_remap = 1U << 2U;   // UFFD_FEATURE_EVENT_REMAP
inline constexpr std::uint64_t k_userfault_thread = 1U << 8U;  // UFFD_FEATURE_THREAD_ID

// Returns why waiting for page faults failed with `error` (an errno value), as the end of a sentence.
std::string why_no_userfault(int error);

// A file that the kernel has agreed to these features for, closed in programs that are begun; or -errno: EINVAL
// where the kernel lacks one, EPERM or EACCES where this process may not. By the call, or by the device, which
// serves whoever may open it. Nothing here allocates. Everybody may have one that traps nothing inside system
// calls
// (`user_faults_alone`, since Linux 5.11): it serves where the kernel resolves such faults itself.
int open_userfault(std::uint64_t features, bool user_faults_alone = false) noexcept;

}  // namespace terrace
