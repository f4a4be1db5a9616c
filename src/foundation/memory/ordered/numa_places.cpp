// SPDX-License-Identifier: Apache-2.0
// Queries and controls the memory of NUMA nodes for ordered fills of the agent's heap. Opens files for each
// reading, because a program may close descriptors that it does not know. See numa_places.hpp.
#include "memory/ordered/numa_places.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/rounding.hpp"
#include "core/small_file.hpp"
#include "memory/numa_node.hpp"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // <linux/mman.h>, since Linux 5.14
#endif

namespace terrace::memory {

namespace {

constexpr int k_mpol_preferred = 1;  // <linux/mempolicy.h>
constexpr unsigned k_mpol_f_addr = 2;
constexpr std::size_t k_node_bits = 1024;

constexpr int k_attempts = 16;  // of a call that fails with EINTR or EAGAIN

// Reads a value of a node's meminfo ("Node 1 MemFree:   1024 kB") in bytes; 0 if it is missing.
std::uint64_t read_node_bytes(int node, std::string_view name) noexcept {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/sys/devices/system/node/node%d/meminfo", node);
  std::array<char, 4096> buffer;
  if (!read_small_file(path.data(), buffer.data(), buffer.size())) return 0;
  const std::string_view text(buffer.data());
  auto at = text.find(name);
  if (at == std::string_view::npos) return 0;
  at = text.find_first_not_of(' ', at + name.size());
  if (at == std::string_view::npos) return 0;
  std::uint64_t kib = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), kib);
  return kib << 10;
}

// Returns the largest number in the text.
std::uint64_t largest_number_in(const char* text) {
  std::uint64_t maximum = 0;
  while (*text != '\0') {
    if (*text < '0' || *text > '9') {
      ++text;
      continue;
    }
    char* end = nullptr;
    maximum = std::max<std::uint64_t>(maximum, std::strtoull(text, &end, 10));
    text = end;
  }
  return maximum;
}

// Returns the bytes of a node that the kernel does not allocate to programs without reclaim: for each zone the
// high watermark plus the largest lowmem protection, at most its managed pages (calculate_totalreserve_pages() in
// the kernel's mm/page_alloc.c).
std::uint64_t read_kernel_reserve(int node) {
  std::FILE* const file = std::fopen("/proc/zoneinfo", "re");
  if (!file) return 0;
  std::uint64_t pages = 0;
  std::uint64_t high = 0;
  std::uint64_t managed = 0;
  bool here = false;
  std::array<char, 512> line;
  while (std::fgets(line.data(), line.size(), file)) {
    int number = -1;
    if (std::sscanf(line.data(), "Node %d", &number) == 1) here = number == node;
    if (!here || std::sscanf(line.data(), " high %lu", &high) == 1) continue;
    if (std::sscanf(line.data(), " managed %lu", &managed) == 1) continue;
    if (const char* const protection = std::strstr(line.data(), "protection:"))
      pages += std::min(high + largest_number_in(protection), managed);
  }
  std::fclose(file);
  return pages * k_page;
}

// Reads the pagemap entry of each page, whose top bits say whether it is resident or swapped out
// (Documentation/admin-guide/mm/pagemap.rst). Returns false if the kernel does not tell.
bool query_content(std::uint64_t address, std::span<std::uint64_t> entries) noexcept {
  const auto file =
      static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0));
  if (file < 0) return false;
  const auto size = static_cast<long>(entries.size_bytes());
  const auto got = ::syscall(SYS_pread64, file, entries.data(), size, address / k_page * sizeof entries[0]);
  ::syscall(SYS_close, file);
  return got == size;
}

// Queries the nodes of at most 512 pages; a negative errno value for absent ones. The kernel reports a page as
// absent also while it migrates the page and, before Linux 6.6, while a NUMA-balancing hinting fault is pending.
// Such a page has content: reading it ends either state, so it is read and queried again. (The zero page stays
// absent.)
int query_present(std::uint64_t address, std::span<int> nodes) noexcept {
  constexpr std::uint64_t k_has_content = 3ULL << 62;
  constexpr int k_reads = 3;
  std::array<std::uint64_t, 512> entries;
  const auto waits = [&](std::size_t i) { return is_absent(nodes[i]) && (entries[i] & k_has_content) != 0; };
  for (int attempt = 0;; ++attempt) {
    if (const auto error = query_pages(address, nodes); error != 0) return error;
    if (attempt == k_reads || std::ranges::none_of(nodes, is_absent)) return 0;
    if (!query_content(address, std::span(entries).first(nodes.size()))) return 0;
    bool some = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto first = i;
      while (i < nodes.size() && waits(i)) ++i;
      if (i == first) continue;
      some = true;
      ::syscall(SYS_madvise, address + first * k_page, (i - first) * k_page, MADV_POPULATE_READ);
    }
    if (!some) return 0;
  }
}

// Repeats a system call that returns 0 or an errno value while it is interrupted.
template <class Call>
int until_done(Call call) noexcept {
  int error = 0;
  for (int attempt = 0; attempt < k_attempts; ++attempt)
    if (error = call(); error != EINTR && error != EAGAIN) break;
  return error;
}

}  // namespace

NumaPlaces::NumaPlaces(const machine::Machine& machine) {
  for (const auto& place : machine.places()) {
    auto& node = nodes_.emplace_back();
    if (place.numa_node < 0) continue;
    node.number = place.numa_node;
    node.total = read_node_bytes(node.number, "MemTotal:");
    if (node.total > 0) node.reserve = std::min(read_kernel_reserve(node.number), node.total);
  }
}

std::uint64_t NumaPlaces::free_bytes(PlaceId place) noexcept {
  return read_node_bytes(nodes_[place].number, "MemFree:");
}

int NumaPlaces::prefer_place(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept {
  return prefer_node(address, size, nodes_[place].number);
}

void NumaPlaces::reset_policy(std::uint64_t address, std::uint64_t size) noexcept {
  memory::reset_policy(address, size);
}

int NumaPlaces::populate(std::uint64_t address, std::uint64_t size) noexcept {
  return until_done([&] { return memory::populate(address, size); });
}

int NumaPlaces::migrate_to(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept {
  split_boundary_huge_pages(address, size);
  int result = 0;
  std::array<void*, 512> pages;
  std::array<int, pages.size()> where;
  for (std::uint64_t at = 0; at < size; at += pages.size() * k_page) {
    const auto count = std::min<std::uint64_t>(pages.size(), (size - at) / k_page);
    for (std::size_t i = 0; i < count; ++i)
      pages[i] = reinterpret_cast<void*>(address + at + i * k_page);  // NOLINT(performance-no-int-to-ptr)
    // Ends pending hinting faults. No new ones occur: the range has a policy, which disables NUMA balancing.
    query_present(address + at, std::span(where).first(count));
    const auto error =
        move_pages_to(std::span(pages).first(count), nodes_[place].number, std::span(where).first(count));
    if (result == 0) result = error;
  }
  return result;
}

int NumaPlaces::query_places(std::uint64_t address, std::span<PlaceId> places) noexcept {
  std::array<int, 512> nodes;
  for (std::size_t at = 0; at < places.size(); at += nodes.size()) {
    const auto count = std::min(nodes.size(), places.size() - at);
    const auto some = std::span(nodes).first(count);
    if (const auto error = query_present(address + at * k_page, some); error != 0) return error;
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = std::ranges::find(nodes_, nodes[i], &Node::number);
      places[at + i] =
          nodes[i] < 0 || found == nodes_.end() ? k_no_place : static_cast<PlaceId>(found - nodes_.begin());
    }
  }
  return 0;
}

bool NumaPlaces::has_policy_for(std::uint64_t address, PlaceId place) const noexcept {
  int mode = 0;
  std::array<std::uint64_t, k_node_bits / 64> nodes{};
  if (::syscall(SYS_get_mempolicy, &mode, nodes.data(), k_node_bits + 1, address, k_mpol_f_addr) != 0)
    return errno != EFAULT;
  if (place == k_no_place) return true;
  const auto node = static_cast<std::size_t>(nodes_[place].number);
  return mode == k_mpol_preferred && (nodes[node / 64] >> (node % 64) & 1) != 0;
}

void NumaPlaces::wait_briefly() noexcept {
  const timespec moment{0, 1'000'000};
  ::syscall(SYS_nanosleep, &moment, nullptr);
}

}  // namespace terrace::memory
