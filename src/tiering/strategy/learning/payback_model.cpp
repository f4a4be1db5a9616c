// SPDX-License-Identifier: Apache-2.0
// Computes the costs and gains of profiling and of moves, and decides whether they are expected to pay, for
// LearningStrategy. See payback_model.hpp.
#include "strategy/learning/payback_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "machine/copier_price.hpp"
#include "observe/collecting/page_bits.hpp"
#include "observe/collecting/sampling_overhead.hpp"

namespace terrace::strategy {

namespace {

constexpr double k_max_learning = 0.005;  // share of the run, past and expected
constexpr double k_max_risk = 0.005;      // expected loss, as a share of the run so far
constexpr double k_max_chance = 0.05;     // probability of a loss, for moves that cost more than k_max_risk allows
constexpr double k_there_and_back = 2;
constexpr double k_samples_of_an_interval = 2;  // one of time or loads, one of misses or stores

// Returns the max share of time that a placement can save, by latency and bandwidth of the domain's slowest place.
double max_gain(const Context& context) {
  const auto& places = context.places();
  if (places.empty()) return 0;
  double least = 1;
  const auto& fast = context.machine->path(context.initiator, places.front());
  for (const auto place : places) {
    const auto& slow = context.machine->path(context.initiator, place);
    least = std::min({least, fast.latency / slow.latency, slow.read.value / fast.read.value,
                      slow.write.value / fast.write.value});
  }
  return 1 - least;
}

// Returns the modelled cost of all samples as a share of the program's time.
double sampling_share(const Context& context) {
  if (context.sample_interval.value <= 0) return 0;
  const auto record =
      observe::k_record_cost + (1.0 / observe::k_records_per_interrupt) * observe::k_interrupt_cost;
  return std::min(k_samples_of_an_interval * (record / context.sample_interval), 1.0);
}

}  // namespace

PaybackModel::PaybackModel(const Context& context, bool marked_must_pay)
    : context_(context),
      marked_must_pay_(marked_must_pay),
      max_gain_(max_gain(context)),
      sampling_price_(sampling_share(context)),
      profiling_share_(sampling_price_) {}

void PaybackModel::on_loop_begin(const LoopBegun& event) {
  if (event.is_detected) detected_loops_.emplace(event.name);
  is_detected_ = detected_loops_.contains(event.name);
  iterations_before_ = event.iterations_before;
  iteration_ = 0;
  retry_at_ = 0;
  profiling_share_ = sampling_price_;
  thinning_ = 1;
  iterations_ = 1;
  last_time_ = last_sampling_ = {};
  unprofiled_time_ = event.iteration_time;
  begun_ = context_.clock->now();
}

// Updates the cost of profiling and the time of an unprofiled iteration by the iteration that has ended.
void PaybackModel::on_iteration_begin(std::uint32_t iteration, bool was_learned) {
  const auto now = context_.clock->now();
  iteration_ = iteration;
  if (iteration > 0) {
    last_time_ = now - begun_;
    last_sampling_ = {};
    if (!was_learned) {
      unprofiled_time_ = last_time_;
    } else if (context_.clock->is_exact()) {
      // Uses the known price of samples, because iterations differ in time.
      const auto scan = context_.can_thin ? chunks().scan : Seconds{};
      last_sampling_ = (sampling_price_ / thinning_) * last_time_ + scan;
      spent_ += last_sampling_;
      if (unprofiled_time_.value <= 0) {
        unprofiled_time_ = last_time_ - last_sampling_;
        if (must_pay() && !is_detected_ && context_.can_thin) extend_profiling();
      }
    } else if (unprofiled_time_.value > 0) {
      const auto more = std::max(last_time_ - unprofiled_time_, Seconds{});
      spent_ += more;
      const auto samples = context_.can_thin ? more - chunks().scan : more;
      profiling_share_ = thinning_ * (std::max(samples, Seconds{}) / unprofiled_time_);
    } else {
      spent_ += profiling_share_ * last_time_;
    }
  }
  begun_ = now;
}

bool PaybackModel::may_profile() {
  thinning_ = 1;
  iterations_ = 1;
  if (!must_pay()) return true;
  if (!is_detected_ && !context_.can_thin) return num_iterations() >= retry_at_;
  if (!is_detected_ && num_iterations() < 1) return may_profile_first();
  if (num_iterations() < retry_at_ || unprofiled_time_.value <= 0) return false;
  const auto left = num_iterations() * unprofiled_time_;
  const auto budget = k_max_learning * (context_.clock->now() + left) - spent_;
  const auto samples = profiling_share_ * unprofiled_time_;
  if (samples > budget && (!context_.can_thin || budget.value <= 0)) return false;
  const auto& known = chunks();
  // One sample per chunk on average.
  const auto needed = std::max(1.0, std::ceil(known.count * (context_.sample_interval / unprofiled_time_)));
  if (needed > num_iterations()) return false;
  const auto scans = context_.can_thin ? needed * known.scan : Seconds{};
  const auto all = needed * samples + scans;
  // With ranks, what this one gives up may be the gain of another.
  if (!context_.ranks && max_gain_ * left < std::min(all, budget) + known.cheapest_move) return false;
  iterations_ = static_cast<std::uint32_t>(needed);
  if (all <= budget) return true;
  if (!context_.can_thin || scans >= budget) return false;
  const auto thinning = needed * samples / (budget - scans);
  if (needed * unprofiled_time_ / (thinning * context_.sample_interval) < known.count) return false;
  thinning_ = std::max(thinning, 1.0);
  return true;
}

// Decides for the first iteration of a marked loop, whose length is unknown. Samples are thinned until they cost
// the share k_max_learning of an iteration of any length. The scan of page references has a fixed cost, which must
// be within that share of the run so far.
bool PaybackModel::may_profile_first() {
  if (chunks().scan > k_max_learning * context_.clock->now()) return false;
  thinning_ = std::max(profiling_share_ / k_max_learning, 1.0);
  return true;
}

// Extends profiling to as many iterations as give one sample per chunk on average, within the budget.
void PaybackModel::extend_profiling() {
  const auto interval = thinning_ * context_.sample_interval;
  const auto needed = std::ceil(chunks().count * (interval / unprofiled_time_));
  const auto budget = k_max_learning * (context_.clock->now() + num_iterations() * unprofiled_time_) - spent_;
  const auto each = (profiling_share_ / thinning_) * unprofiled_time_ + chunks().scan;
  const auto more = each.value > 0 ? std::floor(std::max(budget, Seconds{}) / each) : needed;
  iterations_ = static_cast<std::uint32_t>(std::clamp(needed, 1.0, 1 + more));
}

double PaybackModel::pays_after(Seconds gain, std::span<const ActiveMove> moves, bool in_steps) const {
  if (!must_pay()) return 0;
  if (gain.value <= 0) return std::numeric_limits<double>::infinity();
  Seconds until_done;
  for (const auto& move : moves) {
    const auto& chunk = (*context_.chunks)[move.chunk];
    const auto from = chunk.place.load(std::memory_order_relaxed);
    if (from != k_no_place && from != move.planned.to)
      until_done += machine::move_time(*context_.machine, context_.initiator, context_.cores, from,
                                       move.planned.to, Bytes{chunk.size});
  }
  const auto delay = unprofiled_time_.value > 0 ? until_done / unprofiled_time_ : 0;
  const auto cost = cost_of(moves);
  if (cost.value <= 0) return delay;
  const auto risk = in_steps ? 0 : cost / (k_max_risk * context_.clock->now());  // 1: all of it may be lost
  return delay + std::max(k_there_and_back, risk - 1) * (cost / gain);
}

double PaybackModel::pays_after(const MovePrice& price) const {
  return price.gain.value > 0 ? k_there_and_back * (price.cost / price.gain)
                              : std::numeric_limits<double>::infinity();
}

bool PaybackModel::may_risk(const MovePrice& price, Seconds gained) const {
  const auto credit = k_max_risk * context_.clock->now() + gained;
  if (price.cost <= credit) return true;
  const auto chance = price.cost / (num_iterations() * price.gain + price.cost);
  return chance <= k_max_chance && chance * price.cost <= credit;
}

bool PaybackModel::pays_to_end(Seconds loss, std::span<const transfer::TransferRequest> moves) const {
  Seconds cost;
  for (const auto& move : moves)
    cost += cost_of(move.chunk, (*context_.chunks)[move.chunk].place.load(std::memory_order_relaxed), move.to);
  return loss.value > 0 && num_iterations() * loss >= cost;
}

Seconds PaybackModel::cost_there_and_back(ChunkId chunk, PlaceId from, PlaceId to) const {
  return k_there_and_back * cost_of(chunk, from, to);
}

Seconds PaybackModel::early_budget() const {
  return must_pay() ? k_max_risk * context_.clock->now() : Seconds{std::numeric_limits<double>::infinity()};
}

Seconds PaybackModel::cost_of(ChunkId chunk, PlaceId from, PlaceId to) const {
  const auto& machine = *context_.machine;
  const auto& price = machine.copier();
  const auto& initiator = machine.initiators().at(context_.initiator);
  const Bytes size{(*context_.chunks)[chunk].size};
  const auto threads = machine::mover_threads(price, initiator, context_.cores);
  auto cost = machine::stall_time(price, size) +
              size / machine::copy_rate(machine, price, threads, context_.initiator, from, to);
  if (context_.cores + 1 > initiator.cores) cost += machine::remapping_time(price, size);
  return cost;
}

Seconds PaybackModel::cost_of(const ActiveMove& move) const {
  const auto from = (*context_.chunks)[move.chunk].place.load(std::memory_order_relaxed);
  return from == k_no_place || from == move.planned.to ? Seconds{} : cost_of(move.chunk, from, move.planned.to);
}

Seconds PaybackModel::cost_of(std::span<const ActiveMove> moves) const {
  Seconds sum;
  for (const auto& move : moves) sum += cost_of(move);
  return sum;
}

// Returns cached facts on the chunk table, recomputed only after changes: loops may have a million short
// iterations.
const PaybackModel::Chunks& PaybackModel::chunks() {
  const auto changes = context_.chunks->changes();
  if (chunks_ && chunks_->changes == changes) return *chunks_;
  auto& known = chunks_.emplace(Chunks{});
  known.changes = changes;
  const auto home = context_.home();
  const auto fastest = context_.places().front();
  auto least = std::numeric_limits<double>::infinity();
  for (ChunkId id = 0; id < context_.chunks->size(); ++id) {
    const auto& chunk = (*context_.chunks)[id];
    if (!chunk.live || chunk.domain != context_.domain) continue;
    known.count += 1;
    known.scan += static_cast<double>(observe::pages_of(chunk.size)) * observe::k_reference_cost;
    if (chunk.place.load(std::memory_order_relaxed) == home)
      least = std::min(least, cost_of(id, home, fastest).value);
  }
  known.cheapest_move = Seconds{k_there_and_back * least};
  return known;
}

}  // namespace terrace::strategy
