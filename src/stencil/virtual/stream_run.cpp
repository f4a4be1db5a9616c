// See stream_run.hpp.
#include "stencil/virtual/stream_run.hpp"

#include "core/error.hpp"
#include "stencil/virtual/outer_tiles.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_moves = 16;  // under way at a time, as with files

}  // namespace

StreamRun::StreamRun(const Pair& pair, std::size_t chunk)
    : chunk_(chunk), scheduler_(static_cast<std::size_t>(pair.fast_bytes) / chunk, k_moves), flow_(pair) {}

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
    // What is not copied takes the time to begin a copy.
    const auto bytes = is_store || action->what == What::fetch ? static_cast<double>(chunk_) : 0;
    (is_store ? leaving_ : coming_).push_back(*action);
    (is_store ? counts_.bytes_out : counts_.bytes_in) += bytes;
    flow_.copy(is_store ? Lane::out : Lane::in, bytes);
  }
}

void StreamRun::begin_loops(std::span<const Loop> chain, const TilePlan& tiles, const StreamStep& step) {
  const auto outer = outer_dimension(chain);
  double bytes = 0, pieces = 0;
  for (auto t = step.first_tile; t < step.last_tile; ++t)
    for (std::size_t l = 0; l < chain.size(); ++l) {
      std::array<std::size_t, k_most_dims> tile{0, 0, 0};
      tile[outer] = t;
      const auto part = tiles.part(l, tile);
      if (part.empty()) continue;
      bytes += bytes_of_part(chain[l], part);
      pieces += 1;
    }
  counts_.accesses += bytes;
  flow_.run(bytes, pieces);
}

}  // namespace terrace::stencil
