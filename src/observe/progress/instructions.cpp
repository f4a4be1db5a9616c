// By the instructions that go with the accesses: what a counter of retired instructions says on a real machine.
#include "observe/progress_variant.hpp"

namespace terrace::observe {
namespace {

class Instructions final : public ProgressVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "instructions"; }
  [[nodiscard]] std::uint64_t of(const Quantum& quantum) const override { return quantum.instructions; }
  [[nodiscard]] std::string_view unit() const override { return "instructions"; }
};

}  // namespace

const ProgressVariant& instructions_progress() {
  static const Instructions variant;
  return variant;
}

}  // namespace terrace::observe
