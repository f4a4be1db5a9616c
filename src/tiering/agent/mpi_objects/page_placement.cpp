// SPDX-License-Identifier: Apache-2.0
// Binds and migrates the pages of one range. See page_placement.hpp.
#include "agent/mpi_objects/page_placement.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/rounding.hpp"
#include "memory/numa_node.hpp"

namespace terrace::agent {

namespace {

constexpr std::size_t k_batch = 512;  // pages that are looked at together

// Migrates the resident pages of a batch.
void migrate_batch(std::uint64_t low, std::size_t pages, int node, PagePlacement& placement) noexcept {
  std::array<unsigned char, k_batch> resident{};
  // In shared files, mincore(2) includes pages that no process has mapped.
  if (syscall(SYS_mincore, low, pages * k_page, resident.data()) != 0) return;
  std::array<void*, k_batch> addresses{};
  std::array<int, k_batch> where{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < pages; ++i) {
    if ((resident[i] & 1) == 0) continue;
    void* const page = reinterpret_cast<void*>(low + i * k_page);  // NOLINT(performance-no-int-to-ptr)
    [[maybe_unused]] const char read = *static_cast<const volatile char*>(page);
    addresses[count++] = page;
  }
  const auto found = std::span(where).first(count);
  const int problem = memory::move_pages_to(std::span(addresses).first(count), node, found);
  if (problem == 0) return;
  placement.reason = problem;
  placement.elsewhere += k_page * static_cast<std::uint64_t>(std::ranges::count_if(
                                      found, [&](int at) { return at != node && !memory::is_absent(at); }));
}

}  // namespace

PagePlacement place_pages(std::uint64_t low, std::uint64_t high, int node) noexcept {
  PagePlacement placement;
  if (low >= high) return placement;
  placement.error = memory::prefer_node(low, high - low, node);
  if (placement.error != 0) return placement;
  for (auto at = low; at < high; at += k_batch * k_page)
    migrate_batch(at, std::min<std::uint64_t>(k_batch, (high - at) / k_page), node, placement);
  return placement;
}

}  // namespace terrace::agent
