// SPDX-License-Identifier: Apache-2.0
// Mode `streamed`: data in the slow memory stream in chunks, fetched and evicted independently, each in time
// for its loops. Chains are cut as by the executors: `gpu` on a machine with a GPU, else `streamed`. Selected by
// how=streamed of terrace-stencils, the default.
#include <algorithm>
#include <memory>

#include "stencil/plan/chain_use.hpp"
#include "stencil/stream/chain_splitter.hpp"
#include "stencil/stream/step_plan.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/stream_run.hpp"

namespace terrace::stencil {
namespace {

std::size_t chunk_of(const TwoTierMachine& tiers) {
  const auto& sizes = tiers.is_gpu ? k_gpu_chunks : k_processor_chunks;
  return chunk_size(static_cast<std::uint64_t>(tiers.fast_bytes), sizes.largest, sizes.smallest);
}

class Streamed final : public Mode {
 public:
  Streamed(const TwoTierMachine& tiers, const ModeOptions& options)
      : tiers_(tiers),
        slow_(tiers),
        layout_{chunk_of(tiers), {}, {}},
        run_(tiers, layout_.chunk),
        options_(options) {}

  void add(const DatasetInfo& info) override {
    layout_.shift.push_back(shift_in_page(infos_.size()));
    layout_.is_temporary.push_back(info.is_temporary && options_.is_cyclic);
    infos_.push_back(info);
    const auto kept = kept_chunks(info, layout_);
    // Data that are never stored need no slow memory.
    if (std::ranges::find(kept, true) != kept.end())
      slow_.reserve(static_cast<double>(kept.size() * layout_.chunk));
    run_.add_dataset(kept);
  }

  void run(std::span<const Loop> chain) override {
    const auto [plan, ahead] = book_.next(chain);
    run_.run(chain, *plan->tiles, plan->stream, options_.is_prefetched ? ahead : nullptr);
    counts_ = run_.counts();
    cut_ = {plan->tiles.get(), plan->stream, nullptr, outer_dimension(chain), layout_.chunk, frames()};
  }

  [[nodiscard]] CutChain cut() const override { return cut_; }

 private:
  [[nodiscard]] std::size_t frames() const { return static_cast<std::size_t>(tiers_.fast_bytes) / layout_.chunk; }

  ChainPlan plan(std::span<const Loop> chain, bool is_reversed) {
    const StreamCapacity capacity{infos_, layout_, frames()};
    auto plan = tiers_.is_gpu ? plan_whole_steps(chain, capacity, 0, is_reversed)
                              : plan_cache_steps(chain, capacity, {{}, tiers_.cache, tiers_.threads}, is_reversed);
    if (!capacity.fits(*plan.stream))
      throw InsufficientMemory(
          "the fast memory of " + format(Bytes{static_cast<std::uint64_t>(tiers_.fast_bytes)}) +
          " has no space for a tile of " + std::to_string(chain.size()) + " loops: make memory=SIZE larger");
    return plan;
  }

  TwoTierMachine tiers_;
  SlowMemoryBudget slow_;
  StreamLayout layout_;
  StreamRun run_;
  ModeOptions options_;
  std::vector<DatasetInfo> infos_;
  CutChain cut_;
  ChainPlanCache book_{[this](std::span<const Loop> chain, bool is_reversed) { return plan(chain, is_reversed); },
                       true};
};

}  // namespace

const ModeVariant& streamed_mode() {
  static const ModeVariant variant{
      "streamed", {"memory", "slow_memory", "cyclic", "prefetched"}, make_mode<Streamed>};
  return variant;
}

}  // namespace terrace::stencil
