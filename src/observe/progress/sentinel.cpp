// By the first touch of a chunk that the phase reaches with the segment and not before: it is protected, and who
// touches it traps. Where a segment has no such chunk it begins by time. Profiles count accesses.
#include "observe/progress_variant.hpp"

namespace terrace::observe {
namespace {

class Sentinel final : public ProgressVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "sentinel"; }
  [[nodiscard]] std::uint64_t of(const Quantum& quantum) const override { return quantum.accesses; }
  [[nodiscard]] SegmentStart starts() const override { return SegmentStart::touch; }
  [[nodiscard]] std::string lacks() const override {
    return "a run on real memory protects no pages to see them touched";
  }
};

}  // namespace

const ProgressVariant& sentinel_progress() {
  static const Sentinel variant;
  return variant;
}

}  // namespace terrace::observe
