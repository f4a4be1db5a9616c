// SPDX-License-Identifier: Apache-2.0
// Implements make_streamed(): an out-of-core executor with cache-sized tiles, for any TieredBackend that the
// processor can access. The executor `streamed` is this one over a backing file.
#include <algorithm>
#include <utility>
#include <vector>

#include "stencil/data/dataset_rows.hpp"
#include "stencil/execute/active_loop.hpp"
#include "stencil/execute/team.hpp"
#include "stencil/execute/tile_runner.hpp"
#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/chain_use.hpp"
#include "stencil/stream/streamed_data.hpp"

namespace terrace::stencil {
namespace {

// Makes tiles wait for the data of their step. A thread without tiles left in a step proceeds to the next step.
class StepGate final : public TileGate {
 public:
  StepGate(Stream& stream, const std::vector<StreamStep>& steps) : stream_(stream), steps_(steps) {}
  [[nodiscard]] bool wait_for_data(std::size_t tile) override {
    const auto step = step_of(tile);
    return steps_[step].first_tile != tile || stream_.wait_for(step);
  }
  void on_tile_done(std::size_t tile) override {
    const auto step = step_of(tile);
    if (steps_[step].last_tile == tile + 1) stream_.end_step(step);
  }
  void cancel() noexcept override { stream_.cancel(); }

 private:
  [[nodiscard]] std::size_t step_of(std::size_t tile) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(steps_, tile, {}, &StreamStep::first_tile) -
                                    steps_.begin()) -
           1;
  }

  Stream& stream_;
  const std::vector<StreamStep>& steps_;
};

class Streamed final : public StreamedData {
 public:
  Streamed(const Options& options, std::unique_ptr<TieredBackend> backend, Statistics& statistics)
      : StreamedData(std::move(backend), options.memory, statistics),
        team_(threads_of(options)),
        given_(options.tile) {}

  void run(std::span<const Loop> chain, Reductions& reductions) override {
    const auto [plan, ahead] = book_.next(chain);
    std::vector<ActiveLoop> all;
    for (const auto& loop : chain) all.push_back(terrace::stencil::begin(loop, views(loop), reductions));
    begin(*plan, ahead, outer_dimension(chain));
    StepGate gate(stream(), plan->stream->steps);
    run_tiles(*plan->tiles, all, team_, outer_dimension(chain), &gate);
    statistics().tiles += plan->tiles->count();
    for (const auto& running : all) reductions.combine(*running.loop, running.partials);
  }

  // Runs the transfer in steps of resident chunks, as a chain.
  void transfer(const BlockTransfer& transfer) override {
    const auto plan = plan_transfer(transfer, infos(), layout(), stream().frames());
    if (!plan) {
      Executor::transfer(transfer);
      return;
    }
    begin(*plan);
    for (std::size_t s = 0; s < plan->parts.size(); ++s) {
      (void)stream().wait_for(s);
      execute_transfer(
          transfer, plan->parts[s],
          [this](DatasetId dataset, const Range& range, std::byte* values) {
            copy_out(infos()[dataset], first(dataset), range, values);
          },
          [this](DatasetId dataset, const Range& range, const std::byte* values) {
            copy_in(infos()[dataset], first(dataset), range, values);
          });
      stream().end_step(s);
    }
  }

 private:
  ChainPlan plan(std::span<const Loop> chain, bool is_reversed) {
    return require_fit(chain,
                       plan_cache_steps(chain, capacity(), {given_, own_cache(), team_.size()}, is_reversed));
  }

  Team team_;
  TileSize given_;
  ChainPlanCache book_{[this](std::span<const Loop> chain, bool is_reversed) { return plan(chain, is_reversed); },
                       true};
};

}  // namespace

std::unique_ptr<Executor> make_streamed(const Options& options, std::unique_ptr<TieredBackend> backend,
                                        Statistics& statistics) {
  return std::make_unique<Streamed>(options, std::move(backend), statistics);
}

}  // namespace terrace::stencil
