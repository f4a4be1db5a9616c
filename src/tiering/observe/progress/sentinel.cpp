// SPDX-License-Identifier: Apache-2.0
// Begins segments (`--progress sentinel`) at the first touch of a sentinel: a chunk that the phase does not touch
// before the segment. Its pages are detached, so that the touch faults. A segment without such a chunk begins by
// time. Profiles count accesses.
#include <unistd.h>

#include <cstring>

#include "core/userfault_file.hpp"
#include "observe/progress_variant.hpp"

namespace terrace::observe {
namespace {

class Sentinel final : public ProgressVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "sentinel"; }
  [[nodiscard]] std::uint64_t progress_of(const Quantum& quantum) const override { return quantum.accesses; }
  [[nodiscard]] SegmentStart segment_start() const override { return SegmentStart::touch; }
  [[nodiscard]] std::string unavailable_reason() const override {
    const int file = open_userfault(0);
    if (file < 0) return std::string("this system does not permit userfaultfd (") + std::strerror(-file) + ")";
    close(file);
    return {};
  }
};

}  // namespace

const ProgressVariant& sentinel_progress() {
  static const Sentinel variant;
  return variant;
}

}  // namespace terrace::observe
