// SPDX-License-Identifier: Apache-2.0
// Calls mbind(2), move_pages(2) and madvise(2) for copiers, providers and heaps, and handles their partial
// results. See numa_node.hpp.
#include "memory/numa_node.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/rounding.hpp"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // <linux/mman.h>, since Linux 5.14
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // <linux/mman.h>, since Linux 5.14
#endif
#ifndef MADV_COLD
#define MADV_COLD 20  // <linux/mman.h>, since Linux 5.4
#endif

namespace terrace::memory {

namespace {

constexpr unsigned k_mpol_default = 0;  // <linux/mempolicy.h>
constexpr unsigned k_mpol_preferred = 1;
constexpr unsigned k_mpol_interleave = 3;
constexpr unsigned k_mpol_mf_move = 2;
constexpr std::size_t k_node_bits = 1024;
constexpr int k_max_rounds = 4;  // of retrying pages that did not move

int set_policy(std::uint64_t address, std::size_t size, unsigned mode, const std::uint64_t* mask, unsigned flags) {
  // The kernel uses one bit less than maxnode.
  return syscall(SYS_mbind, address, size, mode, mask, mask ? k_node_bits + 1 : 0, flags) < 0 ? errno : 0;
}

void* page_at(std::uint64_t address, std::size_t index) {
  return reinterpret_cast<void*>(address + index * k_page);  // NOLINT(performance-no-int-to-ptr)
}

// Returns whether a page reported absent is resident all the same: while the kernel migrates it and, before Linux
// 6.6, while a NUMA-balancing hinting fault is pending. Reads the page, which ends either state.
bool is_temporarily_absent(void* page, int status) noexcept {
  unsigned char resident = 0;
  if (status != -ENOENT || syscall(SYS_mincore, page, k_page, &resident) != 0 || (resident & 1) == 0) return false;
  syscall(SYS_madvise, page, k_page, MADV_POPULATE_READ);
  return true;
}

}  // namespace

bool is_absent(int status) noexcept { return status == -ENOENT || status == -EFAULT; }

int prefer_node(std::uint64_t address, std::size_t size, int node, bool moves_existing) noexcept {
  if (node < 0 || static_cast<std::size_t>(node) >= k_node_bits) return EINVAL;
  std::array<std::uint64_t, k_node_bits / 64> mask{};
  mask[static_cast<std::size_t>(node) / 64] = 1ULL << (node % 64);
  return set_policy(address, size, k_mpol_preferred, mask.data(), moves_existing ? k_mpol_mf_move : 0);
}

int interleave_nodes(std::uint64_t address, std::size_t size, std::span<const int> nodes) noexcept {
  std::array<std::uint64_t, k_node_bits / 64> mask{};
  for (const int node : nodes) {
    if (node < 0 || static_cast<std::size_t>(node) >= k_node_bits) return EINVAL;
    mask[static_cast<std::size_t>(node) / 64] |= 1ULL << (node % 64);
  }
  // The result is ignored: a kernel without huge pages refuses the call, and does not need it.
  syscall(SYS_madvise, address, size, MADV_NOHUGEPAGE);
  return set_policy(address, size, k_mpol_interleave, mask.data(), 0);
}

int reset_policy(std::uint64_t address, std::size_t size) noexcept {
  return set_policy(address, size, k_mpol_default, nullptr, 0);
}

// MADV_COLD on a part of a huge page makes the kernel split it (Linux 5.4 and later); no other call on a part does
// so at once. Older kernels, and locked memory, refuse: then a huge page moves as a whole.
void split_boundary_huge_pages(std::uint64_t address, std::size_t size) noexcept {
  const auto end = address + size;
  if (address % k_huge_page != 0) syscall(SYS_madvise, address, k_page, MADV_COLD);
  if (end % k_huge_page != 0) syscall(SYS_madvise, end - k_page, k_page, MADV_COLD);
}

void discard_pages(std::uint64_t address, std::size_t size) noexcept {
  syscall(SYS_madvise, address, size, MADV_DONTNEED);
}

int populate(std::uint64_t address, std::size_t size) noexcept {
  return syscall(SYS_madvise, address, size, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
}

bool has_pages_off_node(std::uint64_t address, std::size_t size, int node) noexcept {
  std::array<unsigned char, k_page_batch> resident;
  std::array<int, k_page_batch> where;
  const auto pages = ceil_div(size, k_page);
  for (std::size_t at = 0; at < pages; at += where.size()) {
    const auto n = std::min(where.size(), pages - at);
    const auto from = address + at * k_page;
    const bool is_mapped = syscall(SYS_mincore, from, n * k_page, resident.data()) == 0;
    const auto is_in_memory = [](unsigned char page) { return (page & 1) != 0; };
    if (is_mapped && std::none_of(resident.begin(), resident.begin() + n, is_in_memory)) continue;
    const auto asked = std::span(where).first(n);
    if (query_pages(from, asked) != 0) return true;
    for (std::size_t i = 0; i < n; ++i) {
      // The node of a resident page that is reported absent (is_temporarily_absent) is unknown.
      const bool is_there = is_mapped ? is_in_memory(resident[i]) : !is_absent(where[i]);
      if (is_there && where[i] != node) return true;
    }
  }
  return false;
}

int query_pages(std::span<void* const> pages, std::span<int> nodes) noexcept {
  const auto answer = syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0);
  return answer < 0 ? errno : 0;
}

int query_pages(std::uint64_t address, std::span<int> nodes) noexcept {
  constexpr std::size_t k_slice = 512;
  std::array<void*, k_slice> pages;
  for (std::size_t at = 0; at < nodes.size(); at += k_slice) {
    const auto n = std::min(k_slice, nodes.size() - at);
    for (std::size_t i = 0; i < n; ++i) pages[i] = page_at(address, at + i);
    if (const auto problem = query_pages(std::span(pages.data(), n), nodes.subspan(at, n)); problem != 0)
      return problem;
  }
  return 0;
}

// move_pages(2) stops at the first page that cannot move and reports only how many are left. So each call is
// followed by a query of all pages, and those that did not move are retried.
int move_pages_to(std::span<void* const> pages, int node, std::span<int> where) noexcept {
  std::array<void*, k_page_batch> pending;
  std::array<int, k_page_batch> targets;
  std::array<int, k_page_batch> status;
  if (pages.size() > k_page_batch) return EINVAL;
  targets.fill(node);
  std::size_t count = pages.size();
  std::copy(pages.begin(), pages.end(), pending.begin());
  for (int round = 0; count > 0; ++round) {
    std::fill_n(status.begin(), count, 0);
    const auto answer =
        syscall(SYS_move_pages, 0, count, pending.data(), targets.data(), status.data(), k_mpol_mf_move);
    int reason = answer < 0 ? errno : answer > 0 ? EBUSY : 0;
    for (std::size_t i = 0; reason == 0 && i < count; ++i)
      if (status[i] < 0 && !is_absent(status[i])) reason = -status[i];
    if (const auto problem = query_pages(pages, where); problem != 0) {
      std::fill(where.begin(), where.end(), -problem);
      return problem;
    }
    const auto before = count;
    count = 0;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      if (is_temporarily_absent(pages[i], where[i])) where[i] = -EBUSY;
      if (where[i] != node && !is_absent(where[i])) pending[count++] = pages[i];
    }
    if (count == 0) break;
    const bool hopeless = reason != 0 && reason != EBUSY && reason != EAGAIN;
    if (round + 1 == k_max_rounds || (hopeless && count == before)) return reason != 0 ? reason : EBUSY;
  }
  return 0;
}

}  // namespace terrace::memory
