// SPDX-License-Identifier: Apache-2.0
// Chooses the best page watch (kernel interface that reports used pages) of this system, for the agent and
// `--dry-run`. See page_watch.hpp.
#include "observe/page_watch.hpp"

namespace terrace::observe {

const PageWatchVariant* best_page_watch() {
  const PageWatchVariant* best = nullptr;
  for (const auto* variant : page_watches())
    if ((!best || variant->rank() < best->rank()) && variant->unavailable_reason().empty()) best = variant;
  return best;
}

}  // namespace terrace::observe
