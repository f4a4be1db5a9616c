// SPDX-License-Identifier: Apache-2.0
// Reads the process's memory use and its limit of address space (RLIMIT_AS), for the runtime inside a program,
// which reserves address space for its heaps and its journal. See address_space.hpp.
#include "core/address_space.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "core/rounding.hpp"
#include "core/small_file.hpp"

namespace terrace {

namespace {

constexpr std::uint64_t k_reserve_divisor = 4;
constexpr std::uint64_t k_min_reserve = 256ULL << 20;

}  // namespace

std::optional<Bytes> address_space_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return Bytes{limit.rlim_cur};
}

std::optional<Bytes> address_space_left() noexcept {
  const auto limit = address_space_limit();
  if (!limit) return {};
  const auto memory = process_memory();
  if (!memory) return {};
  return Bytes{limit->value - std::min(limit->value, memory->size.value)};
}

Bytes reservable(Bytes requested) noexcept {
  const auto left = address_space_left();
  if (!left) return requested;
  const auto share = left->value / k_reserve_divisor;
  return Bytes{share < k_min_reserve ? 0 : std::min(requested.value, share)};
}

std::optional<ProcessMemory> process_memory() noexcept {
  char text[128];
  unsigned long long size = 0, resident = 0, file_backed = 0;
  if (!read_small_file("/proc/self/statm", text, sizeof text) ||
      std::sscanf(text, "%llu %llu %llu", &size, &resident, &file_backed) != 3)
    return {};
  return ProcessMemory{Bytes{size * k_page}, Bytes{resident * k_page}, Bytes{file_backed * k_page}};
}

}  // namespace terrace
