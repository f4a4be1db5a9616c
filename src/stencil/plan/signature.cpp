// SPDX-License-Identifier: Apache-2.0
// Lists a chain's ranges, datasets, accesses and offsets as integers, the key of plan caches. Executors, the
// engine and the record of plans call it before they plan or check a chain.
#include "stencil/plan/signature.hpp"

namespace terrace::stencil {

Signature signature_of(std::span<const Loop> chain) {
  Signature signature;
  for (const auto& loop : chain) {
    signature.insert(signature.end(), loop.range.begin.begin(), loop.range.begin.end());
    signature.insert(signature.end(), loop.range.end.begin(), loop.range.end.end());
    for (const auto& argument : loop.arguments) {
      signature.push_back((std::int64_t{argument.dataset} << 8U) + static_cast<std::int64_t>(argument.access));
      for (const auto& offset : argument.stencil.offsets())
        signature.insert(signature.end(), offset.begin(), offset.end());
    }
    signature.push_back(-1 - static_cast<std::int64_t>(loop.reductions.size()));
  }
  return signature;
}

}  // namespace terrace::stencil
