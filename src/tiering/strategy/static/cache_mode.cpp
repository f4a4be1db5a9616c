// SPDX-License-Identifier: Apache-2.0
// Implements `--planner cache-mode`: the simulated machine runs fast memory as a cache of slow memory, as Intel's
// cache and memory modes do (sim/engine/memory_cache.hpp). All data resides at home.
#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::strategy {
namespace {

class CacheMode final : public Variant {
 public:
  [[nodiscard]] std::string_view name() const override { return "cache-mode"; }
  [[nodiscard]] bool fast_memory_is_cache() const override { return true; }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return home_strategy(context);
  }
};

}  // namespace

const Variant& cache_mode_variant() {
  static const CacheMode variant;
  return variant;
}

}  // namespace terrace::strategy
