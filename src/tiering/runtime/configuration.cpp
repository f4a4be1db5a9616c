// SPDX-License-Identifier: Apache-2.0
// Passes program events to the strategy, the profile and the journal of one configuration. Program calls it for
// every event. See configuration.hpp.
#include "runtime/configuration.hpp"

#include <tuple>
#include <utility>

#include "model/costs.hpp"
#include "observe/threads/time_in_mpi.hpp"
#include "strategy/planner.hpp"
#include "strategy/proof/validated_strategy.hpp"
#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::runtime {

Configuration::Configuration(ConfigurationParts parts, DomainId domain,
                             const std::vector<observe::Object>& objects, const PhaseTracker& tracker,
                             const IterationSampling& sampling)
    : parts_(std::move(parts)),
      objects_(objects),
      tracker_(tracker),
      sampling_(sampling),
      journal_(*parts_.journal),
      hints_(parts_.placement.hints),
      hints_are_new_(!hints_.empty()),
      migrations_(parts_, journal_),
      ranks_(make_rank_group(domain)),
      strategy_(make_strategy(domain, objects)),
      binding_(parts_, domain, journal_, migrations_),
      profiling_(parts_, journal_, *strategy_, migrations_),
      skipped_estimate_(parts_) {
  if (const auto& plan = parts_.placement.plan) migrations_.on_plan_adopted(*plan, "given by --plan");
  for (const auto& [name, time] : parts_.core_times.functions)
    journal_.write(profile::CoreTimeRecord{name + "()", time});
  set_core_time(observe::k_before_loop);
}

// Returns null outside of MPI jobs, and where plans are neither made nor judged.
std::unique_ptr<strategy::RankGroup> Configuration::make_rank_group(DomainId domain) const {
  if (!parts_.rank || parts_.placement.record_only) return nullptr;
  strategy::RankGroup::Settings settings{parts_.ledger, parts_.clock, {}, parts_.budget, *parts_.rank};
  for (const auto place : parts_.machine->fastest_first(domain)) {
    if (place == parts_.machine->home(domain)) break;
    settings.places.push_back(place);
  }
  return std::make_unique<strategy::RankGroup>(std::move(settings));
}

// Makes the placement strategy that plan, planner and mode select.
std::unique_ptr<strategy::Strategy> Configuration::make_strategy(DomainId domain,
                                                                 const std::vector<observe::Object>& objects) {
  strategy::Context context;
  context.machine = parts_.machine;
  context.initiator = parts_.initiator;
  context.domain = domain;
  context.cores = parts_.cores;
  context.budget = parts_.budget;
  context.calibration = parts_.calibration;
  context.sample_interval = parts_.sample_interval;
  context.chunks = parts_.chunks;
  context.ledger = parts_.ledger;
  context.clock = parts_.clock;
  context.objects = &objects;
  context.hints = &hints_;
  context.interval_collector = parts_.watched;
  context.progress = parts_.progress;
  context.segments_start = observe::find_progress(parts_.progress).segment_start();
  context.profiles = parts_.sampled != nullptr;
  context.can_thin = context.profiles && parts_.sampled->can_thin();
  if (auto* const collector = parts_.sampled)
    context.has_enough_samples = [collector] { return collector->has_enough_data(); };
  context.ranks = ranks_.get();
  context.learn_iterations = parts_.placement.learn_iterations;
  context.measures_baseline = parts_.placement.undoes_losing_plans;
  const auto& placement = parts_.placement;
  const auto proven = [&](std::unique_ptr<strategy::Strategy> strategy,
                          const strategy::PredictedTimes& predicted) {
    if (!placement.undoes_losing_plans) return strategy;
    return std::unique_ptr<strategy::Strategy>(std::make_unique<strategy::ValidatedStrategy>(
        context, std::move(strategy), placement.profiling_slows_program, placement.plan.has_value(), predicted));
  };
  if (const auto& plan = placement.plan) {
    const auto* better = placement.refine_plan ? &strategy::find_planner(placement.planner) : nullptr;
    return proven(strategy::follow_plan(context, *plan, better), {plan->predicted_before, plan->predicted});
  }
  const auto& variant = strategy::find_variant(placement.planner);
  const auto* planner = variant.planner();
  const bool learns = planner && planner->needs_profile();
  // A run that only records plans nothing: a baseline strategy takes the planner's part.
  if (placement.record_only && learns)
    return placement.first_touch ? strategy::first_fit_strategy(context) : strategy::home_strategy(context);
  return learns ? proven(variant.start(context), {}) : variant.start(context);
}

void Configuration::on_hint(const observe::ProgramHint& hint) {
  hints_.add(hint);
  hints_are_new_ = true;
}

void Configuration::on_loop_begin(const observe::NewLoop& loop) {
  journal_.write(profile::LoopRecord{std::string(loop.name), now(), std::string(loop.why), loop.turns_before,
                                     skipped_estimate_.totals().misses});
  profiling_.begin_loop();
  skipped_estimate_.begin_loop();
  iterations_ = 0;
  set_core_time(observe::k_before_loop);
  const bool new_hints = std::exchange(hints_are_new_, false) && !parts_.placement.record_only;
  if (new_hints && !strategy_->uses_hints()) {
    const auto who = parts_.placement.plan ? std::string("the plan that was given")
                                           : "the planner '" + parts_.placement.planner + "'";
    on_note("note", "hints: " + who + " places data its own way; reference counts and directives are ignored");
  }
  const auto turn_time = loop.turns_before > 0 ? (loop.work_share / loop.turns_before) * now() : Seconds{};
  strategy_->on_event(strategy::LoopBegun{std::string(loop.name), new_hints, loop.by_time, !loop.why.empty(),
                                          loop.turns_before, turn_time},
                      migrations_);
}

void Configuration::on_phase_begin(std::string_view) {
  const auto iteration = tracker_.iteration();
  const auto index = tracker_.index();
  const auto& phase = tracker_.phase();
  set_core_time(phase);
  parts_.clock->charge(model::k_marker_cost);
  if (tracker_.begins_iteration()) {  // what the last iteration taught is used now
    if (iteration > 0) profiling_.end_iteration();
    strategy_->on_event(strategy::IterationBegins{tracker_.loop(), iteration}, migrations_);
    iterations_ = iteration + 1;
    write_spilled(iteration);
    profiling_.begin_iteration(iteration, sampling_.is_phase_observed());
  }
  strategy_->on_event(strategy::PhaseBegins{index, phase, iteration}, migrations_);
  if (!hints_.empty()) phase_names_.insert(phase);
  read_phase_clocks(migrations_.take_waited());
  phase_in_mpi_begun_ = observe::g_time_in_mpi;
  progress_ = 0;
  migrations_.write();
  strategy_->on_event(strategy::PhaseBegun{index, phase, iteration}, migrations_);
  profiling_.begin_phase(tracker_);
  if (sampling_.is_sampling() && sampling_.is_phase_observed()) skipped_estimate_.begin_observed_phase();
}

// Reading real clocks costs 0.8 us, so a phase that begins where another has ended begins at its end; unless moves
// were awaited or a plan was made in between.
void Configuration::read_phase_clocks(Seconds waited) {
  const auto ended = std::exchange(phase_ended_, std::nullopt);
  if (ended && !parts_.clock->is_exact() && !tracker_.begins_iteration() && waited.value == 0) {
    std::tie(phase_begun_, phase_work_begun_) = *ended;
    return;
  }
  phase_begun_ = now();
  phase_work_begun_ = parts_.clock->worked();
}

void Configuration::on_progress(std::uint32_t thread, std::uint64_t accesses, bool in_stride) {
  progress_ += accesses;
  profiling_.on_progress(tracker_, thread, progress_, in_stride);
  strategy_->on_event(strategy::Progressed{accesses, in_stride, tracker_.index(), tracker_.iteration()},
                      migrations_);
}

void Configuration::on_phase_end(bool is_late) {
  const bool observed = sampling_.is_phase_observed();
  if (sampling_.is_sampling() && observed) skipped_estimate_.end_observed_phase(tracker_);
  if (!sampling_.is_observing()) add_skipped_phase();
  const auto at = now();
  const auto worked = parts_.clock->worked();
  phase_ended_.emplace(at, worked);
  strategy_->on_event(
      strategy::PhaseEnded{tracker_.index(), tracker_.phase(), tracker_.iteration(), progress_, at - phase_begun_,
                           worked - phase_work_begun_, is_late, observe::g_time_in_mpi - phase_in_mpi_begun_},
      migrations_);
  profiling_.end_phase(tracker_, at);
  journal_.write(profile::PhaseRecord{tracker_.iteration(), tracker_.index(), tracker_.phase(), phase_begun_, at,
                                      migrations_.take_waited(), observed});
}

void Configuration::on_loop_ending() {
  phase_ended_.reset();
  migrations_.write();
  if (iterations_ > 0) profiling_.end_iteration();
  profiling_.end_loop();
  strategy_->on_event(strategy::LoopEnded{}, migrations_);
  journal_.write(
      profile::LoopEndRecord{now(), iterations_, sampling_.num_observed(), skipped_estimate_.totals().misses});
  write_counters();
  write_spilled(profile::SpillRecord::k_none);
  set_core_time(observe::k_after_loop);
}

// Accesses are flushed before an event, so each quantum is priced with the time of the phase in which it ends.
void Configuration::set_core_time(std::string_view phase) {
  if (parts_.core_times.phases.empty()) return;
  auto known = core_times_.find(phase);
  if (known == core_times_.end()) {
    const auto name = std::string(phase);
    const auto machines = parts_.machine->initiators()[parts_.initiator].instruction_time;
    known = core_times_.emplace(name, parts_.core_times.find(name).value_or(machines)).first;
    journal_.write(profile::CoreTimeRecord{name, known->second});
  }
  parts_.instructions_take(known->second);
}

void Configuration::write_counters() {
  if (!parts_.totals) return;
  const auto totals = skipped_estimate_.totals();
  journal_.write(profile::CountersRecord{totals.accesses, totals.instructions, totals.misses, totals.unseen,
                                         totals.dropped, totals.core, totals.exposed, totals.bandwidth_bound,
                                         totals.stalled, totals.waited, totals.charged});
  if (parts_.levels) journal_.write(profile::LevelsRecord{parts_.levels()});
}

// Writes the file traffic of simulated out-of-core memory so far.
void Configuration::write_spilled(std::uint32_t iteration) {
  if (!parts_.spilled) return;
  const auto account = parts_.spilled();  // first: it ends pending I/O
  journal_.write(profile::SpillRecord{iteration, now(), account});
}

// Warns of hints (--hints) that matched no object or phase.
void Configuration::note_unused_hints() {
  if (hints_.empty() || !strategy_->uses_hints()) return;
  std::vector<std::string> names;
  names.reserve(objects_.size());
  for (const auto& object : objects_) names.push_back(object.name);
  for (const auto& sentence : hints_.unused(names, {phase_names_.begin(), phase_names_.end()}))
    on_note("warning", sentence);
}

// Returns the process's capacity to the job's ledger before exec: its memory ends with the old program, and the
// new program counts its own.
void Configuration::release_ledger() {
  for (const auto& chunk : *parts_.chunks)
    if (const auto place = chunk.place.load(std::memory_order_relaxed); chunk.live && place != k_no_place)
      parts_.ledger->give(place, Bytes{chunk.size});
}

void Configuration::on_finish(std::string_view how) {
  migrations_.write();
  note_unused_hints();
  for (const auto& sentence : strategy_->unfollowed()) on_note("warning", sentence);
  write_counters();
  write_spilled(profile::SpillRecord::k_none);
  journal_.write(profile::EndRecord{now(), std::string(how)});
  if (how == "exec") release_ledger();
  if (how != profile::k_confined && how != profile::k_limited) return;
  parts_.mover->end();
  parts_.journal->trim();
}

const char* Configuration::place_name(ChunkId chunk) const {
  const auto place = (*parts_.chunks)[chunk].place.load(std::memory_order_relaxed);
  return place == k_no_place ? nullptr : parts_.machine->place(place).name.c_str();
}

}  // namespace terrace::runtime
