// SPDX-License-Identifier: Apache-2.0
// Samples which threads of the program wait in a page fault, from /proc/self/task. The threads of both spill
// engines call it. See fault_waits.hpp.
#include "transfer/spill/fault_waits.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "core/small_file.hpp"

namespace terrace::transfer {

namespace {

// Calls `body` with the id of each thread of the process except the calling one.
template <class Body>
void for_each_thread(Body&& body) noexcept {
  const auto folder =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder < 0) return;
  const auto own = syscall(SYS_gettid);
  alignas(dirent64) std::array<char, 4096> entries;
  for (long size = 0; (size = syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0;)
    for (long at = 0; at < size;) {
      const auto& entry = *reinterpret_cast<const dirent64*>(entries.data() + at);
      at += entry.d_reclen;
      const auto number = std::strtol(entry.d_name, nullptr, 10);
      if (number > 0 && number != own) body(static_cast<std::uint32_t>(number));
    }
  syscall(SYS_close, folder);
}

bool is_in_page_fault(std::uint32_t thread) noexcept {
  char path[64], line[256];
  std::snprintf(path, sizeof path, "/proc/self/task/%u/syscall", thread);
  return read_small_file(path, line, sizeof line) && FaultWaits::is_page_fault(line);
}

}  // namespace

bool FaultWaits::is_supported() noexcept {
  char line[256];
  return read_small_file("/proc/thread-self/syscall", line, sizeof line);
}

// Matches "-1 STACK CODE". Kernel threads of the process, such as io_uring's, show no stack pointer.
bool FaultWaits::is_page_fault(const char* line) noexcept {
  unsigned long long stack = 0;
  return std::sscanf(line, "-1 %llx", &stack) == 1 && stack != 0;
}

int FaultWaits::due_in_ms(std::uint64_t now_ns) const noexcept {
  const auto since = now_ns - sampled_at_ns_;
  if (since >= k_interval_ns) return 1;
  return static_cast<int>((k_interval_ns - since + 999'999) / 1'000'000);
}

std::uint64_t FaultWaits::sample(std::uint64_t now_ns, IsExcluded is_excluded, const void* context) noexcept {
  const auto since = sampled_at_ns_ > 0 ? now_ns - sampled_at_ns_ : 0;
  sampled_at_ns_ = now_ns;
  if (since == 0) return 0;
  const auto part = std::max(num_threads_ / k_max_sampled_threads, 1U);  // sample one thread in so many
  std::uint32_t found = 0, number = round_++ % part;
  num_threads_ = 0;
  for_each_thread([&](std::uint32_t thread) {
    ++num_threads_;
    if (number++ % part != 0 || !is_in_page_fault(thread)) return;
    if (!is_excluded || !is_excluded(context, thread)) ++found;
  });
  return since * found * part;
}

}  // namespace terrace::transfer
