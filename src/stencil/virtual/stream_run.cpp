// SPDX-License-Identifier: Apache-2.0
// See stream_run.hpp.
#include "stencil/virtual/stream_run.hpp"

#include "core/error.hpp"
#include "stencil/virtual/outer_tiles.hpp"

namespace terrace::stencil {

StreamRun::StreamRun(const Pair& pair, std::size_t chunk)
    : pair_(pair),
      chunk_(chunk),
      scheduler_(static_cast<std::size_t>(pair.fast_bytes) / chunk, k_max_moves),
      flow_(pair) {}

void StreamRun::run(std::span<const Loop> chain, const TilePlan& tiles, std::shared_ptr<const StreamPlan> plan,
                    std::shared_ptr<const StreamPlan> ahead) {
  const auto& steps = plan->steps;
  scheduler_.begin(plan, std::move(ahead));
  for (std::size_t s = 0; s < steps.size(); ++s) {
    begin_moves();
    while (!scheduler_.is_ready(s)) pass();
    begin_loops(chain, tiles, steps[s]);
    while (!flow_.is_idle(Lane::loops)) pass();
    scheduler_.end_step(s);
    counts_.tiles += static_cast<double>(steps[s].last_tile - steps[s].first_tile);
  }
  begin_moves();
  counts_.seconds = flow_.now();
  counts_.loop_seconds = flow_.loop_seconds();
  counts_.copy_seconds = flow_.copy_seconds();
  counts_.hidden_seconds = flow_.hidden_seconds();
  counts_.hits = counts_.accesses;
}

void StreamRun::pass() {
  const auto ended = flow_.pass();
  if (!ended) throw Error(Code::failed, "streaming stands still: a step waits for what nobody brings");
  if (*ended == Lane::loops) return;
  auto& lane = *ended == Lane::in ? coming_ : leaving_;
  scheduler_.done(lane.front());
  lane.pop_front();
  begin_moves();
}

void StreamRun::begin_moves() {
  using What = StreamAction::What;
  while (const auto action = scheduler_.next()) {
    const auto is_store = action->what == What::store;
    const auto bytes = is_store || action->what == What::fetch ? static_cast<double>(chunk_) : 0;
    (is_store ? leaving_ : coming_).push_back(*action);
    (is_store ? counts_.bytes_out : counts_.bytes_in) += bytes;
    flow_.copy(is_store ? Lane::out : Lane::in, bytes, price(action->what));
  }
}

// What comes gets addresses; of that, what is fetched or cleared is a copy, too. Cores do both in one call.
CopyPrice StreamRun::price(StreamAction::What what) const {
  using What = StreamAction::What;
  const auto bytes = static_cast<double>(chunk_);
  if (what == What::store) return pair_.copy_price(bytes);
  auto price = pair_.map_price(bytes);
  if (pair_.is_gpu && what != What::admit) price.begin += pair_.copy_price(bytes).begin;
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
  flow_.run(bytes, pieces);
}

}  // namespace terrace::stencil
