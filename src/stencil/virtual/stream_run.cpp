// SPDX-License-Identifier: Apache-2.0
// Prices the steps and transfers of an out-of-core chain in virtual time, decided by StreamScheduler. Called by
// the mode `streamed`. See stream_run.hpp.
#include "stencil/virtual/stream_run.hpp"

#include "core/error.hpp"
#include "stencil/virtual/outer_tiles.hpp"

namespace terrace::stencil {

StreamRun::StreamRun(const TwoTierMachine& tiers, std::size_t chunk)
    : tiers_(tiers),
      chunk_(chunk),
      scheduler_(static_cast<std::size_t>(tiers.fast_bytes) / chunk, k_max_moves),
      overlap_(tiers) {}

void StreamRun::run(std::span<const Loop> chain, const TilePlan& tiles, std::shared_ptr<const StreamPlan> plan,
                    std::shared_ptr<const StreamPlan> ahead) {
  const auto& steps = plan->steps;
  scheduler_.begin(plan, std::move(ahead));
  for (std::size_t s = 0; s < steps.size(); ++s) {
    begin_moves();
    while (!scheduler_.is_ready(s)) advance();
    begin_loops(chain, tiles, steps[s]);
    while (!overlap_.is_idle(Lane::loops)) advance();
    scheduler_.end_step(s);
    counts_.tiles += static_cast<double>(steps[s].last_tile - steps[s].first_tile);
  }
  begin_moves();
  counts_.seconds = overlap_.now();
  counts_.loop_seconds = overlap_.loop_seconds();
  counts_.copy_seconds = overlap_.copy_seconds();
  counts_.hidden_seconds = overlap_.hidden_seconds();
  counts_.hits = counts_.accesses;
}

void StreamRun::advance() {
  const auto ended = overlap_.advance();
  if (!ended)
    throw Error(
        Code::failed,
        "streaming is deadlocked: a step waits for chunks that no transfer fetches: report this error of Terrace");
  if (*ended == Lane::loops) return;
  auto& lane = *ended == Lane::in ? coming_ : leaving_;
  scheduler_.done(lane.front());
  lane.pop_front();
  begin_moves();
}

// Queues all copies that the scheduler allows now.
void StreamRun::begin_moves() {
  using What = StreamAction::What;
  while (const auto action = scheduler_.next()) {
    const auto is_store = action->what == What::store;
    const auto bytes = is_store || action->what == What::fetch ? static_cast<double>(chunk_) : 0;
    (is_store ? leaving_ : coming_).push_back(*action);
    (is_store ? counts_.bytes_out : counts_.bytes_in) += bytes;
    overlap_.copy(is_store ? Lane::out : Lane::in, bytes, price(action->what));
  }
}

// Returns the costs of a move: a fetched chunk is mapped; fetching or clearing also copies. Cores do both in one
// call.
CopyPrice StreamRun::price(StreamAction::What what) const {
  using What = StreamAction::What;
  const auto bytes = static_cast<double>(chunk_);
  if (what == What::store) return tiers_.copy_price(bytes);
  auto price = tiers_.map_price(bytes);
  if (tiers_.is_gpu && what != What::admit) price.begin += tiers_.copy_price(bytes).begin;
  return price;
}

void StreamRun::begin_loops(std::span<const Loop> chain, const TilePlan& tiles, const StreamStep& step) {
  const auto outer = outer_dimension(chain);
  double bytes = 0, pieces = 0;
  for (std::size_t l = 0; l < chain.size(); ++l) {
    const auto part = tiles.part_of_all(l, outer, step.first_tile, step.last_tile);
    if (part.empty()) continue;
    bytes += bytes_of_part(chain[l], part);
    pieces += 1;
  }
  counts_.accesses += bytes;
  overlap_.run(bytes, pieces);
}

}  // namespace terrace::stencil
