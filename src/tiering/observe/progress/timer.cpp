// SPDX-License-Identifier: Apache-2.0
// Begins segments (`--progress timer`) by the time since the phase's marker, which is available in uninstrumented
// programs. Assumes that a phase takes as long as the last time; otherwise its segments begin early or late.
// Profiles count accesses.
#include "observe/progress_variant.hpp"

namespace terrace::observe {
namespace {

class Timer final : public ProgressVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "timer"; }
  [[nodiscard]] std::uint64_t progress_of(const Quantum& quantum) const override { return quantum.accesses; }
  [[nodiscard]] SegmentStart segment_start() const override { return SegmentStart::time; }
  [[nodiscard]] std::string unavailable_reason() const override { return {}; }
};

}  // namespace

const ProgressVariant& timer_progress() {
  static const Timer variant;
  return variant;
}

}  // namespace terrace::observe
