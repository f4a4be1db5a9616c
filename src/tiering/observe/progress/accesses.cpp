// SPDX-License-Identifier: Apache-2.0
// Measures how far an iteration has advanced by counting accesses that the hooks report (`--progress accesses` of
// terrace simulate and record). Segments of phases begin at such progress.
#include "observe/progress_variant.hpp"

namespace terrace::observe {
namespace {

class Accesses final : public ProgressVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "accesses"; }
  [[nodiscard]] std::uint64_t progress_of(const Quantum& quantum) const override { return quantum.accesses; }
};

}  // namespace

const ProgressVariant& accesses_progress() {
  static const Accesses variant;
  return variant;
}

}  // namespace terrace::observe
