// SPDX-License-Identifier: Apache-2.0
// Implements the system queries of the spill engines: resident memory, processor times, page faults. See
// spill_system.hpp.
#include "transfer/spill/spill_system.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "core/address_space.hpp"
#include "core/rounding.hpp"
#include "core/small_file.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

ResidentMemory resident_memory() noexcept {
  const auto memory = process_memory();
  if (!memory) return {};
  return {memory->resident.value, memory->file_backed.value};
}

std::uint64_t user_time_ns(std::uint32_t thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%u/stat", thread);
  char text[1024];
  if (!read_small_file(path, text, sizeof text)) return 0;
  const char* const behind_name = std::strrchr(text, ')');
  unsigned long long ticks = 0;
  // proc(5): the 14th field, utime in clock ticks.
  if (!behind_name ||
      std::sscanf(behind_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu", &ticks) != 1)
    return 0;
  return ticks * 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

std::uint64_t major_faults() noexcept {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<std::uint64_t>(use.ru_majflt);
}

Seconds program_cpu_time() noexcept {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  rusage all{}, own{};
  getrusage(RUSAGE_SELF, &all);
  getrusage(RUSAGE_THREAD, &own);
  return Seconds{seconds(all.ru_utime) - seconds(own.ru_utime) + seconds(all.ru_stime) - seconds(own.ru_stime)};
}

void warn_memory_too_small(Bytes memory, Bytes taken, void (*say)(const char* sentence)) {
  char text[512];
  std::snprintf(
      text, sizeof text,
      "memory that cannot be out of core (small blocks, code, stacks) takes %s of --memory %s: give at least %s, "
      "and more if it grows",
      format(taken).c_str(), format(memory).c_str(), format(spill_limits::min_memory(taken)).c_str());
  say(text);
}

void unshare_file_table() noexcept {
  if (syscall(SYS_unshare, CLONE_FILES) != 0) return;
  syscall(SYS_close_range, 0U, 1U, 0U);
  syscall(SYS_close_range, 3U, ~0U, 0U);
}

}  // namespace terrace::transfer
