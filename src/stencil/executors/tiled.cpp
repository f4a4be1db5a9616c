// SPDX-License-Identifier: Apache-2.0
// Executor `tiled`: runs the whole chain tile by tile, while each tile's data are in the cache. The engine creates
// it for executor=tiled, the default.
#include <chrono>
#include <span>
#include <utility>

#include "stencil/execute/active_loop.hpp"
#include "stencil/execute/in_memory.hpp"
#include "stencil/execute/tile_runner.hpp"
#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {
namespace {

// Caches tile plans: programs repeat their chains, with other values in their kernels.
class TilePlanCache {
 public:
  // Returns the plan, which is valid until the next call.
  const TilePlan& get(std::span<const Loop> chain, const TileSize& size) {
    std::pair key(signature_of(chain), size);
    if (const auto* const plan = plans_.find(key)) return *plan;
    return plans_.add(std::move(key), TilePlan(chain, size));
  }

 private:
  LruMap<std::pair<Signature, TileSize>, TilePlan> plans_{64};
};

class Tiled final : public InMemory {
 public:
  Tiled(const Options& options, Statistics& statistics)
      : InMemory(options, statistics), given_(options.tile), cache_(own_cache()) {}

  void run(std::span<const Loop> chain, Reductions& reductions) override {
    const auto is_given = given_ != TileSize{};
    const auto size = is_given ? given_ : tuner_.next(kind_of(chain), model(chain));
    const auto& plan = *(plan_ = &plans_.get(chain, size));
    std::vector<ActiveLoop> all;
    for (const auto& loop : chain) all.push_back(begin(loop, views(loop), reductions));
    const auto start = std::chrono::steady_clock::now();
    run_tiles(plan, all, team(), outermost(plan));
    if (!is_given)
      tuner_.record_time(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                         points_of(chain));
    statistics().tiles += plan.count();
    for (const auto& running : all) reductions.combine(*running.loop, running.partials);
  }

  [[nodiscard]] CutChain cut() const override { return {.tiles = plan_}; }

 private:
  TileSize model(std::span<const Loop> chain) {
    auto signature = signature_of(chain);
    if (const auto* const size = models_.find(signature)) return *size;
    return models_.add(std::move(signature),
                       model_size(chain, {cache_, bytes_of_point(chain, infos()), team().size()}));
  }

  TileSize given_;
  std::size_t cache_;
  TilePlanCache plans_;
  const TilePlan* plan_ = nullptr;
  TileTuner tuner_;
  LruMap<Signature, TileSize> models_{TileTuner::k_max_kinds};
};

class TiledVariant final : public ExecutorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "tiled"; }
  [[nodiscard]] std::vector<std::string_view> words() const override {
    return {"threads", "tile", "paged", "folder"};
  }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    return std::make_unique<Tiled>(options, statistics);
  }
};

}  // namespace

const ExecutorVariant& tiled_executor() {
  static const TiledVariant variant;
  return variant;
}

}  // namespace terrace::stencil
