// By time since the phase's marker: what a program without hooks delivers on real memory. A phase is taken to be
// as long as it was the last time; where it is not, its segments begin early or late. Profiles count accesses.
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
