#include "memory/numa_node.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace terrace::memory {

namespace {

constexpr int k_mpol_preferred = 1;   // <linux/mempolicy.h>
constexpr int k_mpol_mf_move = 2;
constexpr std::size_t k_node_words = 16;
constexpr std::size_t k_batch = 4096;  // pages a call: beyond 512 the cost of a page hardly falls

// One move_pages(2) over a run of pages; `nodes` null asks where they are.
int pages_call(std::uint64_t address, const int* node, std::span<int> status) noexcept {
  std::array<void*, k_batch> pages;
  std::array<int, k_batch> targets;
  if (node) targets.fill(*node);
  int result = 0;
  for (std::size_t at = 0; at < status.size(); at += k_batch) {
    const auto n = std::min(k_batch, status.size() - at);
    for (std::size_t i = 0; i < n; ++i) pages[i] = reinterpret_cast<void*>(address + (at + i) * k_page);
    const auto answer = syscall(SYS_move_pages, 0, n, pages.data(), node ? targets.data() : nullptr,
                                status.data() + at, k_mpol_mf_move);
    if (answer < 0) result = errno;
  }
  return result;
}

}  // namespace

int prefer_node(std::uint64_t address, std::size_t size, int node) noexcept {
  std::array<std::uint64_t, k_node_words> mask{};
  if (node < 0 || static_cast<std::size_t>(node) >= k_node_words * 64) return EINVAL;
  mask[static_cast<std::size_t>(node) / 64] = 1ULL << (node % 64);
  const auto answer = syscall(SYS_mbind, address, size, k_mpol_preferred, mask.data(), k_node_words * 64, 0);
  return answer < 0 ? errno : 0;
}

int query_pages(std::uint64_t address, std::span<int> nodes) noexcept { return pages_call(address, nullptr, nodes); }

int move_pages_to(std::uint64_t address, int node, std::span<int> status) noexcept {
  return pages_call(address, &node, status);
}

}  // namespace terrace::memory
