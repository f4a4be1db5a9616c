// SPDX-License-Identifier: Apache-2.0
// Allocates the memory of measurements by system calls, without a library, and verifies its placement by /proc.
// See placed_buffer.hpp.
#include "machine/measure/placed_buffer.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/rounding.hpp"

namespace terrace::machine {
namespace {

// Sets MPOL_PREFERRED. Returns false if the system lacks the call or refuses it.
bool prefer_node(void* begin, std::size_t size, int node) {
  constexpr std::size_t k_bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(static_cast<std::size_t>(node) / k_bits + 1);
  mask.back() = 1ul << (static_cast<std::size_t>(node) % k_bits);
  // The kernel uses one bit less than maxnode.
  return ::syscall(SYS_mbind, begin, size, MPOL_PREFERRED, mask.data(), mask.size() * k_bits + 1, 0) == 0;
}

// Returns the first number after `key` in a file of /sys or /proc.
std::optional<std::uint64_t> number_in(const std::string& path, const char* key) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return std::nullopt;
  char line[512];
  std::optional<std::uint64_t> found;
  while (!found && std::fgets(line, sizeof line, file) != nullptr) {
    const char* at = std::strstr(line, key);
    std::uint64_t value = 0;
    if (at != nullptr && std::sscanf(at + std::strlen(key), " %" SCNu64, &value) == 1) found = value;
  }
  std::fclose(file);
  return found;
}

}  // namespace

PlacedBuffer::PlacedBuffer(Bytes size, Pages pages, int numa_node) : size_(size.value) {
  map_size_ = align_up(size_, k_huge_page) + k_huge_page;
  map_ = ::mmap(nullptr, map_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map_ == MAP_FAILED) {
    throw Error(Code::no_memory, "a measurement needs " + format(size) + " of memory: " + std::strerror(errno) +
                                     "; free memory, or raise ulimit -v, and measure again");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(map_);
  begin_ = static_cast<std::byte*>(map_) + (align_up(address, k_huge_page) - address);
  // The advice may be refused (a kernel without transparent huge pages); share_huge() verifies the result.
  ::madvise(map_, map_size_, pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  if (numa_node >= 0 && !prefer_node(map_, map_size_, numa_node)) {
    const std::string why = std::strerror(errno);
    ::munmap(map_, map_size_);
    throw Error(Code::unsupported, "memory cannot be put on NUMA node " + std::to_string(numa_node) + ": " + why +
                                       "; let this process use that node (numactl, cpuset)");
  }
  for (std::size_t at = 0; at < size_; at += 4096) begin_[at] = std::byte{1};
}

PlacedBuffer::~PlacedBuffer() { ::munmap(map_, map_size_); }

std::optional<double> PlacedBuffer::share_on(int numa_node) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t step = std::max(page, size_ / 4096 / page * page);
  std::vector<void*> pages;
  for (std::size_t at = 0; at < size_; at += step) pages.push_back(begin_ + at);
  std::vector<int> status(pages.size(), -1);
  // Without target nodes the call moves nothing and reports where each page is.
  if (::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) != 0)
    return std::nullopt;
  const auto there = std::count(status.begin(), status.end(), numa_node);
  return static_cast<double>(there) / static_cast<double>(status.size());
}

std::optional<double> PlacedBuffer::share_huge() const {
  std::FILE* file = std::fopen("/proc/self/smaps", "r");
  if (file == nullptr) return std::nullopt;
  const auto first = reinterpret_cast<std::uintptr_t>(begin_);
  const auto last = first + size_;
  char line[512];
  bool ours = false;
  bool is_reported = false;
  std::uint64_t huge_kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    std::uint64_t kib = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
      ours = from < last && to > first;
    } else if (ours && std::sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1) {
      huge_kib += kib;
      is_reported = true;
    }
  }
  std::fclose(file);
  if (!is_reported) return std::nullopt;
  return std::min(1.0, static_cast<double>(huge_kib) * 1024 / static_cast<double>(size_));
}

Bytes available_memory(int numa_node) {
  const auto system = static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t available = system;
  if (numa_node >= 0) {
    const auto folder = "/sys/devices/system/node/node" + std::to_string(numa_node);
    if (const auto kib = number_in(folder + "/meminfo", "MemFree:")) available = std::min(available, *kib * 1024);
  }
  const auto limit = number_in("/sys/fs/cgroup/memory.max", "");
  const auto used = number_in("/sys/fs/cgroup/memory.current", "");
  if (limit && used) available = std::min(available, *limit > *used ? *limit - *used : 0);
  return {available};
}

}  // namespace terrace::machine
