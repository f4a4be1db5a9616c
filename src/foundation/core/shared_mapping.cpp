// SPDX-License-Identifier: Apache-2.0
// Allocates disk space of files and maps them, for journals, job ledgers and the counters of a session. See
// shared_mapping.hpp.
#include "core/shared_mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace terrace {

bool allocate_file_space(int file, std::size_t from, std::size_t to) noexcept {
  // Check the limit here: beyond it the kernel would send SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < to) {
    errno = EFBIG;
    return false;
  }
  int result = 0;
  do {
    result = fallocate(file, 0, static_cast<off_t>(from), static_cast<off_t>(to - from));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  // File systems without fallocate(2): writing zeros allocates the space as well.
  static constexpr std::array<char, 4096> k_zeros{};
  while (from < to) {
    const auto n = pwrite(file, k_zeros.data(), std::min(k_zeros.size(), to - from), static_cast<off_t>(from));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    from += static_cast<std::size_t>(n);
  }
  return true;
}

void* map_shared(int file, std::size_t size) noexcept {
  if (!allocate_file_space(file, 0, size)) return nullptr;
  void* const map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return map == MAP_FAILED ? nullptr : map;
}

}  // namespace terrace
