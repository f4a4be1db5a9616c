// A measure of progress that never advances, so that no phase has segments.
#include "observe/progress_variant.hpp"

namespace terrace::observe {
namespace {

class Dummy final : public ProgressVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "dummy"; }
  [[nodiscard]] std::uint64_t progress_of(const Quantum&) const override { return 0; }
};

}  // namespace

const ProgressVariant& dummy_progress() {
  static const Dummy variant;
  return variant;
}

}  // namespace terrace::observe
