// See address_space.hpp.
#include "core/address_space.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "core/rounding.hpp"
#include "core/small_file.hpp"

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

std::optional<Bytes> address_space_left() noexcept {
  const auto limit = address_space_limit();
  if (!limit) return {};
  char text[128];
  unsigned long long pages = 0;
  if (!read_small_file("/proc/self/statm", text, sizeof text) || std::sscanf(text, "%llu", &pages) != 1) return {};
  return Bytes{limit->value - std::min<std::uint64_t>(limit->value, pages * k_page)};
}

Bytes reservable(Bytes wanted) noexcept {
  const auto left = address_space_left();
  if (!left) return wanted;
  const auto share = left->value / k_share;
  return Bytes{share < k_least ? 0 : std::min(wanted.value, share)};
}

}  // namespace terrace
