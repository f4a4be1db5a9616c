// SPDX-License-Identifier: Apache-2.0
// Plans within a rank's share of its node's fast memory, and plans again when the ranks divide it anew: the part
// of LearningStrategy for MPI jobs. See learning_strategy.hpp and ranks/rank_group.hpp.
#include <algorithm>
#include <exception>
#include <utility>

#include "strategy/following/pending_placement.hpp"
#include "strategy/learning/learning_strategy.hpp"
#include "strategy/ranks/rank_group.hpp"

namespace terrace::strategy {

namespace {

constexpr double k_min_mpi_share = 0.5;               // of a phase's time, inside of MPI calls
constexpr std::uint32_t k_max_request_interval = 64;  // iterations

}  // namespace

// Publishes what this rank gains from fast memory. The program runs on, and the plan is made once all ranks of the
// loop have published, or after max(RankGroup::k_min_gain_timeout, profiling time).
void LearningStrategy::publish_gains(model::Problem problem) {
  std::vector<Seconds> in_mpi;
  for (const auto& phase : profiled_times_)
    in_mpi.push_back(phase.in_mpi / static_cast<double>(num_profiled_times_));
  std::vector<GainCurve> curves;
  for (const auto place : context_.ranks->divided_places())
    curves.push_back(gain_curve(problem, place, context_.budget[place], in_mpi));
  context_.ranks->publish_gains(std::move(curves), unmovable_bytes());
  problem_ = std::move(problem);
  awaits_division_ = true;
}

// Divides fast memory once the other ranks' gains are known, or when they have changed, and plans for this rank's
// share.
void LearningStrategy::plan_divided(std::uint32_t iteration, Requests& requests) {
  if (!problem_) return;
  const bool has_plan = plan_.has_value();
  if (awaits_division_) {
    if (context_.ranks->poll_missing_gains()) return;
  } else {
    if (is_reprofiling_ || !context_.ranks->detect_share_change()) return;
    why_ = "planned again in iteration " + std::to_string(iteration + 1) + ": the ranks' demands changed";
  }
  awaits_division_ = false;
  context_.ranks->divide();
  requests.note("note", context_.ranks->describe_division());
  auto problem = *problem_;
  const auto budget = context_.own_budget();
  for (std::size_t place = 0; place < problem.places.size() && place < budget.size(); ++place)
    problem.places[place].budget = std::min(problem_->places[place].budget, budget[place]);
  try {
    make_plans(std::move(problem), has_plan, requests);
  } catch (const std::exception& error) {
    on_planning_failed(error.what(), has_plan, requests);
  }
}

// Requests moves of the plan in force that were refused because other ranks had not moved their data out yet.
void LearningStrategy::request_missing(std::uint32_t iteration, Requests& requests) {
  Bytes available;
  for (const auto place : context_.ranks->divided_places()) available += context_.ledger->available(place);
  if (available > std::exchange(available_, available)) next_request_ = iteration;
  if (iteration < next_request_ || is_reprofiling_ || is_migrating_ || !requests.is_idle()) return;
  auto moves = plan_->moves_to_placement(requests, 0);
  PendingCapacity capacity(context_, {});
  std::erase_if(moves, [&](const ActiveMove& move) { return !capacity.move(move.chunk, move.planned.to); });
  if (moves.empty()) {
    request_interval_ = std::min(2 * request_interval_, k_max_request_interval);
  } else {
    request_interval_ = 1;
    plan_->request(std::move(moves), iteration + 1, requests);
  }
  next_request_ = iteration + request_interval_;
}

void LearningStrategy::add_phase_time(const PhaseEnded& event) {
  if (times_now_.size() <= event.phase) times_now_.resize(event.phase + 1);
  times_now_[event.phase] = {event.time, event.in_mpi};
}

// Keeps the iteration's times. Those of profiled iterations are summed: profiling slows the program down, so that
// their waits are compared with their own phases. Where the phases are others, the sums begin anew.
void LearningStrategy::end_iteration_times(bool was_profiled) {
  times_ = std::exchange(times_now_, {});
  if (!was_profiled) return;
  if (profiled_times_.size() != times_.size()) {
    profiled_times_.assign(times_.size(), {});
    num_profiled_times_ = 0;
  }
  for (std::size_t phase = 0; phase < times_.size(); ++phase)
    profiled_times_[phase].in_mpi += times_[phase].in_mpi;
  ++num_profiled_times_;
}

// Returns, by divided place, the bytes of this process that are in no chunk, such as those of the MPI library.
std::vector<Bytes> LearningStrategy::unmovable_bytes() const {
  std::vector<Bytes> bytes;
  for (const auto place : context_.ranks->divided_places()) {
    const auto held = context_.ledger->held_by_self(place);
    Bytes in_chunks;
    for (const auto& chunk : *context_.chunks)
      if (chunk.live && chunk.place.load(std::memory_order_relaxed) == place) in_chunks += Bytes{chunk.size};
    bytes.push_back(held - std::min(held, in_chunks));
  }
  return bytes;
}

// Returns whether this rank has more chunks in a divided place than its share, which other ranks wait for. Smaller
// excesses than a chunk are none.
bool LearningStrategy::exceeds_share() const {
  if (!context_.ranks || !context_.ranks->is_divided()) return false;
  const auto budget = context_.ranks->own_budget();
  return std::ranges::any_of(context_.ranks->divided_places(), [&](PlaceId place) {
    Bytes held, largest;
    for (const auto& chunk : *context_.chunks) {
      if (!chunk.live || chunk.place.load(std::memory_order_relaxed) != place) continue;
      held += Bytes{chunk.size};
      largest = std::max(largest, Bytes{chunk.size});
    }
    return held > budget[place] + largest;
  });
}

// Profiles the iteration that begins because another rank does. Without a plan in force, the rank learns anew.
void LearningStrategy::profile_with_others(std::uint32_t iteration, Requests& requests) {
  if (given_ || planner_ == nullptr || planning_failed_ || awaits_division_ || payback_.iterations() > 1) return;
  profiled_.clear();
  profiled_times_.clear();
  if (plan_) {
    is_reprofiling_ = true;
  } else {
    pending_plans_.clear();
    is_learned_ = false;
    first_profiled_ = iteration;
  }
  why_ = "learned again in iteration " + std::to_string(iteration + 1) + ": another rank does";
  requests.note("note", why_);
}

// Returns whether the rank mostly waits for other ranks in this phase: moves do not slow it down then.
bool LearningStrategy::waits_in_mpi(PhaseIndex phase) const {
  return phase < times_.size() && times_[phase].in_mpi > k_min_mpi_share * times_[phase].total;
}

}  // namespace terrace::strategy
