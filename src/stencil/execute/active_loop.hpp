// SPDX-License-Identifier: Apache-2.0
// Bundles a loop with its accessors and partial results while it runs. Executors make one for each loop of a
// chain.
#pragma once

#include <cstddef>
#include <vector>

#include "stencil/data/reductions.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

// A loop with the addresses of its data and of its partial results.
struct ActiveLoop {
  const Loop* loop = nullptr;
  std::vector<View> views;
  std::vector<std::vector<std::byte>> partials;
  std::vector<std::byte*> partial_addresses;

  void run_part(const Range& range) const {
    if (!range.empty()) loop->body({*loop, range, views.data(), partial_addresses.data()});
  }
};
// Returns the loop with these accessors, and partial results that are the identity.
[[nodiscard]] ActiveLoop begin(const Loop& loop, std::vector<View> views, const Reductions& reductions);

}  // namespace terrace::stencil
