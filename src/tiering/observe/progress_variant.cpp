// SPDX-License-Identifier: Apache-2.0
// Finds a measure of progress by the name in `--progress` or in a plan. See progress_variant.hpp.
#include "observe/progress_variant.hpp"

#include <string>

#include "core/error.hpp"

namespace terrace::observe {

const ProgressVariant& find_progress(std::string_view name) {
  std::string known;
  for (const auto* variant : progresses()) {
    if (variant->name() == name) return *variant;
    known += (known.empty() ? "" : ", ") + std::string(variant->name());
  }
  throw Error(Code::invalid,
              "--progress: there is no measure of progress '" + std::string(name) + "'; there are " + known);
}

const ProgressVariant& default_real_progress() {
  const auto& sentinel = find_progress("sentinel");
  return sentinel.unavailable_reason().empty() ? sentinel : find_progress("timer");
}

}  // namespace terrace::observe
