// SPDX-License-Identifier: Apache-2.0
// Prepares a loop to run: its accessors, and buffers for its partial results. Executors call it for each loop of a
// chain.
#include "stencil/execute/active_loop.hpp"

#include <utility>

namespace terrace::stencil {

ActiveLoop begin(const Loop& loop, std::vector<View> views, const Reductions& reductions) {
  ActiveLoop running{&loop, std::move(views), reductions.partials(loop), {}};
  for (auto& partial : running.partials) running.partial_addresses.push_back(partial.data());
  return running;
}

}  // namespace terrace::stencil
