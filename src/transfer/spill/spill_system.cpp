// See spill_system.hpp.
#include "transfer/spill/spill_system.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "core/rounding.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

Resident resident() noexcept {
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (file < 0) return {};
  char text[128] = {};
  const auto got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  unsigned long long size = 0;
  unsigned long long all = 0;
  unsigned long long of_files = 0;
  if (got <= 0 || std::sscanf(text, "%llu %llu %llu", &size, &all, &of_files) != 3) return {};
  return {all * k_page, of_files * k_page};
}

std::uint64_t pages_read() noexcept {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<std::uint64_t>(use.ru_majflt);
}

void say_too_small(Bytes memory, Bytes taken, void (*say)(const char* sentence)) {
  char text[512];
  std::snprintf(
      text, sizeof text,
      "what has to stay in memory (small blocks, code, stacks) takes %s of --memory %s: give at least %s, "
      "and more where it grows",
      format(taken).c_str(), format(memory).c_str(), format(spill_limits::least_memory(taken)).c_str());
  say(text);
}

void have_own_files() noexcept {
  if (syscall(SYS_unshare, CLONE_FILES) != 0) return;
  syscall(SYS_close_range, 0U, 1U, 0U);
  syscall(SYS_close_range, 3U, ~0U, 0U);
}

}  // namespace terrace::transfer
