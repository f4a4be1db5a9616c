// SPDX-License-Identifier: Apache-2.0
// Implements the common code of the spill engines, and their factory, which the agent's out-of-core heap calls.
// See spill_engine.hpp.
#include "transfer/spill/spill_engine.hpp"

#include <cstdio>
#include <cstring>
#include <utility>

#include "transfer/spill/paged_spill.hpp"
#include "transfer/spill/spill.hpp"

namespace terrace::transfer {

void SpillEngine::say_once(bool& said, const char* sentence, int error) noexcept {
  if (std::exchange(said, true) || !parts_.say) return;
  char text[512];
  std::snprintf(text, sizeof text, "%s (%s: %s)", sentence, parts_.folder.c_str(), std::strerror(error));
  parts_.say(text);
}

std::unique_ptr<SpillEngine> make_spill(const SpillEngine::Parts& parts) {
  if (parts.paged) return std::make_unique<PagedSpill>(parts);
  return std::make_unique<Spill>(parts);
}

}  // namespace terrace::transfer
