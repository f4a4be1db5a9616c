// How far a phase has come: what segments of phases are cut by, and what plans with segments count in. Each way is
// one file in progress/; the build makes the table of them (cmake/Variants.cmake).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "observe/tally.hpp"

namespace terrace::observe {

class ProgressVariant {
 public:
  virtual ~ProgressVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // By how much the quantum brings the phase on. It must not depend on where data resides.
  [[nodiscard]] virtual std::uint64_t of(const Quantum& quantum) const = 0;
};

inline constexpr std::string_view k_default_progress = "accesses";

const std::vector<const ProgressVariant*>& progresses();
// Throws Error{invalid} with the list of names where there is none.
const ProgressVariant& find_progress(std::string_view name);

}  // namespace terrace::observe
