// See address_space.hpp.
#include "core/address_space.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/rounding.hpp"

namespace terrace {

namespace {

constexpr std::uint64_t k_share = 4;
constexpr std::uint64_t k_least = 256ULL << 20;

}  // namespace

std::optional<Bytes> address_space_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return Bytes{limit.rlim_cur};
}

// By bare system calls: this is called from inside allocators.
std::optional<Bytes> address_space_left() noexcept {
  const auto limit = address_space_limit();
  if (!limit) return {};
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (file < 0) return {};
  char text[128] = {};
  const auto got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  unsigned long long pages = 0;
  if (got <= 0 || std::sscanf(text, "%llu", &pages) != 1) return {};
  return Bytes{limit->value - std::min<std::uint64_t>(limit->value, pages * k_page)};
}

Bytes reservable(Bytes wanted) noexcept {
  const auto left = address_space_left();
  if (!left) return wanted;
  const auto share = left->value / k_share;
  return Bytes{share < k_least ? 0 : std::min(wanted.value, share)};
}

}  // namespace terrace
