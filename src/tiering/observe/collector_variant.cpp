// SPDX-License-Identifier: Apache-2.0
// Finds a collector by the name in `--collector`. See collector_variant.hpp.
#include "observe/collector_variant.hpp"

#include <string>

#include "core/error.hpp"

namespace terrace::observe {

const CollectorVariant& find_collector(std::string_view name) {
  std::string known;
  for (const auto* variant : collectors()) {
    if (variant->name() == name) return *variant;
    known += (known.empty() ? "" : ", ") + std::string(variant->name());
  }
  throw Error(Code::invalid, "--collector: there is no collector '" + std::string(name) + "'; there are " + known);
}

}  // namespace terrace::observe
