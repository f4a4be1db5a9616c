// Plans of chains that come again: programs repeat their chains, with other numbers in their kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// Chains of so many loops and points take about the same time.
[[nodiscard]] std::uint64_t kind_of(std::span<const Loop> chain);

class PlanCache {
 public:
  const TilePlan& get(std::span<const Loop> chain, const TileSize& size);

 private:
  struct Kept {
    std::vector<std::int64_t> signature;
    TileSize size;
    std::unique_ptr<TilePlan> plan;
    std::uint64_t used = 0;
  };
  std::vector<Kept> kept_;
  std::uint64_t uses_ = 0;
};

}  // namespace terrace::stencil
