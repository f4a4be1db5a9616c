// SPDX-License-Identifier: Apache-2.0
// Collects the chains that ran, with their tiles, steps and moved chunks, and formats them as JSON. Recorded calls
// it after each chain; `terrace show` and `terrace report` read the document.
#include "stencil/record/plan_record.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {
namespace {

using Limits = std::numeric_limits<std::ptrdiff_t>;

// A closed interval [low, high].
struct Interval {
  std::ptrdiff_t low = Limits::min();
  std::ptrdiff_t high = Limits::max();
  [[nodiscard]] std::ptrdiff_t nearest_to_zero() const { return std::clamp<std::ptrdiff_t>(0, low, high); }
};

using Json = nlohmann::ordered_json;

constexpr int k_schema = 1;
constexpr std::size_t k_max_chains = 256;  // further chains are only counted: each takes memory

std::string_view word_of(Access access) {
  switch (access) {
    case Access::read:
      return "read";
    case Access::write:
      return "write";
    case Access::read_write:
      return "read_write";
    case Access::increment:
      return "increment";
  }
  return "";
}

// Describes a loop: range, arguments and number of reductions.
Json json_of(const Loop& loop) {
  Json arguments = Json::array();
  for (const auto& argument : loop.arguments)
    arguments.push_back({{"dataset", argument.dataset},
                         {"access", word_of(argument.access)},
                         {"low", argument.low},
                         {"high", argument.high},
                         {"offsets", argument.stencil.offsets().size()}});
  return {{"name", loop.name},
          {"begin", loop.range.begin},
          {"end", loop.range.end},
          {"arguments", std::move(arguments)},
          {"reductions", loop.reductions.size()}};
}

// Describes a tile plan: size, number and skew of tiles, and where each loop ends in them.
Json json_of(std::span<const Loop> chain, const TilePlan& plan) {
  const auto all = hull_of(chain);
  Json edges = Json::array();
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    Json of_dimension = Json::array();
    for (std::size_t l = 0; l < chain.size() && plan.tiles()[d] > 1; ++l) {
      Json runs = Json::array();
      for (const auto& run : edge_runs(plan, all, chain[l].range, l, d)) runs.push_back({run.tiles, run.ahead});
      of_dimension.push_back(std::move(runs));
    }
    edges.push_back(std::move(of_dimension));
  }
  return {{"size", plan.size()},         {"tiles", plan.tiles()},
          {"reversed", plan.reversed()}, {"skew", {plan.skew(0), plan.skew(1), plan.skew(2)}},
          {"begin", all.begin},          {"end", all.end},
          {"edges", std::move(edges)}};
}

// Describes the steps of an out-of-core plan, with the chunks that begin, end or stay in each.
Json json_of(const StreamPlan& plan, const CutChain& cut) {
  std::vector<Json> steps;
  for (const auto& step : plan.steps)
    steps.push_back({{"first_tile", step.first_tile},
                     {"last_tile", step.last_tile},
                     {"needed", 0U},
                     {"new", 0U},
                     {"written", 0U},
                     {"dropped", 0U},
                     {"held", 0U}});
  const auto count = [&](std::uint32_t step, const char* what) {
    auto& number = steps[step][what].get_ref<Json::number_unsigned_t&>();
    ++number;
  };
  for (const auto& use : plan.uses) {
    count(use.first, use.is_fetched ? "needed" : "new");
    count(use.last, use.is_written ? "written" : "dropped");
    for (auto step = use.first; step <= use.last; ++step) count(step, "held");
  }
  return {{"dimension", cut.outer},
          {"chunk", cut.chunk},
          {"frames", cut.frames},
          {"most_chunks", plan.most_chunks},
          {"steps", std::move(steps)}};
}

Json json_of(const StreamMoves& moves) {
  Json all = Json::array();
  for (const auto& one : moves)
    all.push_back(
        {{"fetched", one.fetched}, {"cleared", one.cleared}, {"admitted", one.admitted}, {"stored", one.stored}});
  return all;
}

}  // namespace

// One plan of a chain. An evicted plan may be recomputed: then it has several counters.
struct PlanRecord::Plan {
  std::array<std::ptrdiff_t, k_max_dims> size{};
  std::array<bool, k_max_dims> reversed{};
  std::size_t steps = 0;
  std::uint64_t runs = 0;
  double seconds = 0;
  Json json;
  Json stream;
  std::set<std::shared_ptr<const StreamMoves>> moved;
};

struct PlanRecord::ChainRecord {
  BlockId block = 0;
  std::uint64_t runs = 0;
  double seconds = 0;
  Json loops = Json::array();
  std::vector<Plan> plans;
};

PlanRecord::PlanRecord(const Options& options)
    : head_(std::make_unique<Json>(Json{{"kind", k_kind},
                                        {"schema", k_schema},
                                        {"executor", options.executor},
                                        {"memory", options.memory},
                                        {"blocks", Json::array()},
                                        {"datasets", Json::array()}})) {}

PlanRecord::~PlanRecord() = default;

void PlanRecord::add_block(const std::string& name, const Range& range) {
  (*head_)["blocks"].push_back({{"name", name}, {"begin", range.begin}, {"end", range.end}});
}

void PlanRecord::add(const DatasetInfo& info) {
  (*head_)["datasets"].push_back({{"name", info.name},
                                  {"block", info.block},
                                  {"element", info.element},
                                  {"begin", info.range.begin},
                                  {"end", info.range.end},
                                  {"is_temporary", info.is_temporary}});
}

// Returns the record of a chain, new or known; nullptr if the document has its maximum of chains.
PlanRecord::ChainRecord* PlanRecord::find(std::span<const Loop> chain) {
  auto signature = signature_of(chain);
  if (const auto found = by_signature_.find(signature); found != by_signature_.end()) return found->second;
  if (chains_.size() == k_max_chains) return nullptr;
  auto& made = *chains_.emplace_back(std::make_unique<ChainRecord>());
  made.block = chain.front().block;
  for (const auto& loop : chain) made.loops.push_back(json_of(loop));
  return by_signature_.emplace(std::move(signature), &made).first->second;
}

void PlanRecord::add_run(std::span<const Loop> chain, const CutChain& cut, double seconds) {
  auto* const known = find(chain);
  if (!known) {
    ++num_skipped_;
    return;
  }
  ++known->runs;
  known->seconds += seconds;
  if (!cut.tiles) return;
  const auto steps = cut.stream ? cut.stream->steps.size() : 0;
  auto plan = std::ranges::find_if(known->plans, [&](const Plan& one) {
    return one.size == cut.tiles->size() && one.reversed == cut.tiles->reversed() && one.steps == steps;
  });
  if (plan == known->plans.end()) {
    known->plans.push_back({cut.tiles->size(),
                            cut.tiles->reversed(),
                            steps,
                            0,
                            0,
                            json_of(chain, *cut.tiles),
                            cut.stream ? json_of(*cut.stream, cut) : Json(),
                            {}});
    plan = known->plans.end() - 1;
  }
  ++plan->runs;
  plan->seconds += seconds;
  if (cut.moved) plan->moved.insert(cut.moved);
}

std::string PlanRecord::text() const {
  auto document = *head_;
  document["left_out"] = num_skipped_;
  auto& chains = document["chains"] = Json::array();
  for (const auto& known : chains_) {
    Json chain{{"block", known->block},
               {"runs", known->runs},
               {"seconds", known->seconds},
               {"loops", known->loops},
               {"plans", Json::array()}};
    for (const auto& plan : known->plans) {
      Json one{{"runs", plan.runs}, {"seconds", plan.seconds}};
      one.update(plan.json);
      if (!plan.stream.is_null()) {
        one["stream"] = plan.stream;
        StreamMoves all(plan.steps + 1);
        for (const auto& moved : plan.moved)
          for (std::size_t s = 0; s < all.size(); ++s) {
            all[s].fetched += (*moved)[s].fetched;
            all[s].cleared += (*moved)[s].cleared;
            all[s].admitted += (*moved)[s].admitted;
            all[s].stored += (*moved)[s].stored;
          }
        one["stream"]["moved"] = json_of(all);
      }
      chain["plans"].push_back(std::move(one));
    }
    chains.push_back(std::move(chain));
  }
  // Names come from the program and may hold any bytes.
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<EdgeRun> edge_runs(const TilePlan& plan, const Range& all, const Range& range, std::size_t loop,
                               std::size_t d) {
  const auto is_reversed = plan.reversed()[d];
  const auto first = is_reversed ? -all.end[d] : all.begin[d];
  const auto begin = is_reversed ? -range.end[d] : range.begin[d];
  const auto end = is_reversed ? -range.begin[d] : range.end[d];
  std::vector<EdgeRun> runs;
  Interval fits;  // candidates for the run's `ahead`
  std::size_t tiles = 0;
  const auto end_run = [&] {
    if (tiles > 0) runs.push_back({tiles, fits.nearest_to_zero()});
    fits = {};
    tiles = 0;
  };
  for (std::size_t t = 0; t + 1 < plan.tiles()[d]; ++t) {
    std::array<std::size_t, k_max_dims> tile{0, 0, 0};
    tile[d] = t;
    const auto part = plan.part(loop, tile);
    const auto edge = is_reversed ? -part.begin[d] : part.end[d];
    const auto ahead = edge - first - static_cast<std::ptrdiff_t>(t + 1) * plan.size()[d];
    // At the loop's bounds, any value beyond gives the same end.
    const Interval here{edge == begin ? Limits::min() : ahead, edge == end ? Limits::max() : ahead};
    if (std::max(here.low, fits.low) > std::min(here.high, fits.high)) end_run();
    fits = {std::max(here.low, fits.low), std::min(here.high, fits.high)};
    ++tiles;
  }
  end_run();
  return runs;
}

}  // namespace terrace::stencil
