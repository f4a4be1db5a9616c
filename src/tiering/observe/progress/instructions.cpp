// SPDX-License-Identifier: Apache-2.0
// Measures progress (`--progress instructions`) in instructions of instrumented code, as a counter of retired
// instructions does on real hardware.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "observe/progress_variant.hpp"

namespace terrace::observe {
namespace {

class Instructions final : public ProgressVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "instructions"; }
  [[nodiscard]] std::uint64_t progress_of(const Quantum& quantum) const override { return quantum.instructions; }
  [[nodiscard]] std::string_view unit() const override { return "instructions"; }
  [[nodiscard]] std::string unavailable_reason() const override {
    perf_event_attr counter{};
    counter.size = sizeof counter;
    counter.type = PERF_TYPE_HARDWARE;
    counter.config = PERF_COUNT_HW_INSTRUCTIONS;
    counter.exclude_kernel = 1;
    const auto file = syscall(SYS_perf_event_open, &counter, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0)
      return std::string("this system has no instruction counter (perf_event_open: ") + std::strerror(errno) + ")";
    close(static_cast<int>(file));
    return "a run on real memory does not read the counter of instructions";
  }
};

}  // namespace

const ProgressVariant& instructions_progress() {
  static const Instructions variant;
  return variant;
}

}  // namespace terrace::observe
