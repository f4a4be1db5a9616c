// Weighted interleaving, as Linux 6.9 has it: chunks round robin over the places of their domain, in the ratio of
// the bandwidths.
#include "strategy/tiering/interleave.hpp"

namespace terrace::strategy {

const Variant& weighted_interleave_variant() {
  static const Interleave variant("weighted-interleave", true);
  return variant;
}

}  // namespace terrace::strategy
