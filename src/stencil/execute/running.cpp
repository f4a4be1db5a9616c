// SPDX-License-Identifier: Apache-2.0
// See running.hpp.
#include "stencil/execute/running.hpp"

#include <utility>

namespace terrace::stencil {

Running begin(const Loop& loop, std::vector<View> views, const Reductions& reductions) {
  Running running{&loop, std::move(views), reductions.partials(loop), {}};
  for (auto& partial : running.partials) running.partial_addresses.push_back(partial.data());
  return running;
}

}  // namespace terrace::stencil
