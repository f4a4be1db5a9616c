// SPDX-License-Identifier: Apache-2.0
// Detects the main loop in the tree of a program's calls and loops, and reports its iterations and phases to the
// runtime. loop_phases.cpp chooses the phases. See loop_finder.hpp.
#include "runtime/loop_finder.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "observe/loops/loop_name.hpp"
#include "runtime/loop_candidates.hpp"

namespace terrace::runtime {

namespace {

using Work = observe::Work;

constexpr Work k_min_iteration_work = 1 << 18;  // instructions of a main loop's iteration, on average
constexpr Work k_min_outermost_work = 1 << 14;  // the same for a loop that is nested in no other loop
constexpr Work k_ticks_of_work = 2;             // min clock ticks of a counted instruction whose hooks are idle
constexpr double k_majority_of_run = 0.5;
constexpr double k_nearly_all = 0.95;
constexpr double k_min_share_of_run = 0.05;  // of a main loop, in the work so far
constexpr std::uint64_t k_max_iterations_before = std::numeric_limits<std::uint32_t>::max();
constexpr double k_end_delay = 0.1;  // of an iteration: so long after its exit a loop has ended
constexpr std::uint64_t k_few_events = 16;
constexpr std::uint64_t k_iterations_to_judge = 4;  // after so many an enclosing loop is the main loop, or is none
// Work after which a visit of an inner loop no longer waits for the outer one: about 0.2 s on most cores. No share
// of the work tells whether the outer loop will iterate again. A wrong choice costs a plan and its moves: tens of
// MiB at some GB/s, about 20 ms. A visit ten times as long pays for that. If the visit is nearly all of the outer
// loop's work, its plan serves both, and an eighth suffices.
constexpr Work k_max_unsure_work = 1 << 29;
constexpr std::uint64_t k_observed_to_reject = 2;  // iterations: the first may be observed in part
constexpr double k_share_parts = 1e6;              // resolution of PhaseBoundary::work_share

std::string rounded(double share) { return std::to_string(static_cast<int>(share + 0.5)); }

}  // namespace

// --- the main loop -------------------------------------------------------------------------------------------

bool LoopFinder::is_wanted(Index index) {
  if (is_wanted_.size() <= index) is_wanted_.resize(tree_.nodes().size());
  auto& answer = is_wanted_[index];
  if (answer == Answer::unknown) {
    const auto name = name_of_(node(index));
    answer = name == wanted_ || (known_phases_.empty() && matches_wanted(name)) ? Answer::yes : Answer::no;
  }
  return answer == Answer::yes;
}

// Compares with the function's name, and with either name as a pattern.
bool LoopFinder::matches_wanted(const std::string& name) const {
  const auto function = name.substr(0, observe::loop_separator(name));
  const auto is_like = [this](const std::string& one) {
    return one == wanted_ || fnmatch(wanted_.c_str(), one.c_str(), 0) == 0;
  };
  return is_like(name) || is_like(function);
}

// If the user named a function or a pattern, the outermost matching loop is meant.
bool LoopFinder::has_wanted_ancestor(Index index) {
  for (auto around = node(index).around; around != k_none; around = node(around).around)
    if (node(around).is_loop && is_wanted(around)) return true;
  return false;
}

bool LoopFinder::is_candidate(Index index) {
  const auto& candidate = node(index);
  if (!wanted_.empty())
    return main_ == k_none && known_phases_.empty() && is_wanted(index) && !has_wanted_ancestor(index);
  if (!rejected_.empty() && rejected_.contains(index)) return false;
  const auto work = static_cast<double>(tree_.work_of(index)) / static_cast<double>(tree_.now());
  if (work < k_min_share_of_run) return false;
  const auto least = min_iteration_work(index, work);
  const bool is_regular = candidate.num_similar != 0 && candidate.last_iteration_work >= least;
  if (!is_regular && !is_steady(index, work, least)) return false;
  if (waits_for_outer(index)) return false;
  return main_ == k_none || !is_running_ || (index != main_ && tree_.is_inside(main_, index));
}

// A loop nested in a repeated step runs as soon as the step does, and makes many iterations before the step has
// made three, so it waits. An outer loop of one or two iterations would leave the run without a main loop.
// Therefore a single visit with k_max_unsure_work work that does most of the outer loop's work so far does not
// wait. Neither does one with an eighth of that which does nearly all of the outer loop's work.
bool LoopFinder::waits_for_outer(Index index) const {
  const auto visit = tree_.current_visit_work(index);
  const auto min_share = visit >= k_max_unsure_work       ? k_majority_of_run
                         : visit >= k_max_unsure_work / 8 ? k_nearly_all
                                                          : 1.0;
  for (auto around = node(index).around; around != k_none; around = node(around).around) {
    const auto& outer = node(around);
    if (!outer.is_loop || outer.iterations >= k_iterations_to_judge) continue;
    if (min_share == 1.0 ||
        static_cast<double>(visit) < min_share * static_cast<double>(tree_.current_visit_work(around)))
      return true;
  }
  return false;
}

bool LoopFinder::is_steady(Index index, double share, Work min_iteration_work) const {
  return node(index).is_steady && share >= k_majority_of_run && mean_iteration_work(index) >= min_iteration_work;
}

Work LoopFinder::mean_iteration_work(Index index) const {
  return tree_.work_of(index) / std::max<std::uint64_t>(node(index).iterations, 1);
}

// Short iterations usually belong to a loop that is part of something that repeats. An outermost loop that does
// most of the work so far is accepted with less.
Work LoopFinder::min_iteration_work(Index index, double share) const {
  if (share < k_majority_of_run) return k_min_iteration_work;
  for (auto around = node(index).around; around != k_none; around = node(around).around)
    if (node(around).is_loop) return k_min_iteration_work;
  return by_clock_ ? k_ticks_of_work * k_min_outermost_work : k_min_outermost_work;
}

// Called by the tree when a loop begins another iteration.
void LoopFinder::on_iteration(Index index) {
  count_event(index, observe::LoopTree::k_min_iteration_work);
  end_finished_loop();
  if (index == main_ && is_running_) {
    if (has_too_few_instructions()) return reject_main_loop();
    PhaseBoundary boundary;
    begin_iteration(boundary);
    on_boundary_(boundary);
  } else if (is_candidate(index)) {
    select_main_loop(index);
  }
}

// Called by the tree when the program enters a call or loop.
void LoopFinder::on_enter(Index index) {
  count_event(index, observe::LoopTree::k_min_visit_work);
  end_finished_loop();
  if (!known_phases_.empty() && !is_running_ && index != main_ && is_wanted(index)) select_known_loop(index);
  if (index == main_) {
    is_running_ = true;
    PhaseBoundary boundary;
    if (!in_loop_) begin_loop(boundary);
    begin_iteration(boundary);
    on_boundary_(boundary);
    return;
  }
  if (!is_running_ || !is_phase(index)) return;
  auto name = name_of_(node(index));
  if (name == first_name_ && std::exchange(first_is_pending_, false)) return;
  PhaseBoundary boundary;
  begin_phase(std::move(name), boundary);
  on_boundary_(boundary);
}

// Selects a loop whose phases are known by name.
void LoopFinder::select_known_loop(Index index) {
  main_ = index;
  is_phase_.clear();
  phase_names_ = {known_phases_.begin(), known_phases_.end()};
  first_name_ = known_phases_.front();
  if (first_name_ == wanted_) phase_names_.erase(first_name_);
}

void LoopFinder::on_exit(Index index) {
  ++num_events_;
  if (index == main_) {
    is_running_ = false;
    exit_time_ = tree_.now();
    events_at_exit_ = num_events_;
    work_since_exit_ = 0;
    // One long loop without calls may follow: ask the tree to report when enough work has passed to end this loop.
    tree_.notify_at(exit_time_ +
                    static_cast<Work>(k_end_delay * static_cast<double>(node(main_).last_iteration_work)) + 1);
  }
  end_finished_loop();
}

void LoopFinder::on_unobserved_iteration_end(Index index) {
  if (index != main_ || !is_running_) return;
  PhaseBoundary boundary;
  boundary.expects_iteration = true;
  on_boundary_(boundary);
}

void LoopFinder::set_observed(bool observed) {
  is_observed_ = observed;
  tree_.set_unobserved(observed ? k_none : main_);
}

// The clock also runs in libraries without hooks, whose instructions `record` and `simulate` do not count: a loop
// that parses a file by strtod has long iterations by the clock and short ones by counted instructions. The
// counted instructions decide, so that all subcommands find the same loop.
bool LoopFinder::has_too_few_instructions() const {
  const auto& loop = node(main_);
  return by_clock_ && loop.unobserved >= k_observed_to_reject && loop.max_hook_work != 0 &&
         loop.max_hook_work < min_counted_;
}

void LoopFinder::reject_main_loop() {
  rejected_.insert(main_);
  reported_[main_] = node(main_).iterations;
  main_ = k_none;
  in_loop_ = is_running_ = false;
  PhaseBoundary boundary;
  boundary.ends_loop = true;
  on_boundary_(boundary);
}

// Makes the node the main loop, and reports the loop and its current iteration.
void LoopFinder::select_main_loop(Index index) {
  if (main_ != k_none) reported_[main_] = node(main_).iterations;
  main_ = index;
  is_running_ = true;
  const auto least =
      min_iteration_work(index, static_cast<double>(tree_.work_of(index)) / static_cast<double>(tree_.now()));
  const bool is_regular = node(index).num_similar != 0 && node(index).last_iteration_work >= least;
  // Irregular iterations are not checked: a few observed ones do not represent the mean.
  min_counted_ = wanted_.empty() && is_regular ? least / k_ticks_of_work : 0;
  choose_phases();
  PhaseBoundary boundary;
  boundary.ends_loop = in_loop_;
  begin_loop(boundary);
  if (wanted_.empty()) boundary.why = selection_reason();
  boundary.iterations_before =
      static_cast<std::uint32_t>(std::min(node(main_).iterations - reported_[main_], k_max_iterations_before));
  // Recordings store whole millionths (sim/recording/recording_format.hpp): rounding gives a replay the same
  // value.
  const auto share =
      std::min(static_cast<double>(boundary.iterations_before) * static_cast<double>(mean_iteration_work(main_)) /
                   static_cast<double>(std::max<Work>(tree_.now(), 1)),
               1.0);
  boundary.work_share = static_cast<double>(static_cast<std::uint64_t>(share * k_share_parts)) / k_share_parts;
  begin_iteration(boundary);
  on_boundary_(boundary);
}

std::string LoopFinder::failure_reason() const {
  if (main_ != k_none) return {};
  if (!known_phases_.empty())
    return "the plan is for the loop " + wanted_ + ", which was not entered; " + describe_largest_loop();
  if (wanted_.empty()) return describe_largest_loop();
  for (Index i = 1; i < tree_.nodes().size(); ++i)
    if (const auto name = name_of_(node(i)); node(i).is_loop && matches_wanted(name))
      return "the loop " + name + " did not iterate twice; " + describe_largest_loop();
  return "no loop called " + wanted_ + " was entered; " + describe_largest_loop();
}

std::string LoopFinder::describe_largest_loop() const {
  auto largest = k_none;
  for (Index i = 1; i < tree_.nodes().size(); ++i)
    if (node(i).is_loop && node(i).iterations > 1 &&
        (largest == k_none || tree_.work_of(i) > tree_.work_of(largest)))
      largest = i;
  if (largest == k_none) return "no loop iterated twice";
  const auto& loop = node(largest);
  const auto share = 100 * static_cast<double>(tree_.work_of(largest)) / static_cast<double>(tree_.now());
  const auto name = name_of_(loop);
  auto text = "the largest loop, " + name + ", does " + rounded(share) + " % of the work in " +
              std::to_string(loop.iterations) + " iterations";
  if (!wanted_.empty()) return text;
  const char* const but = loop.last_iteration_work < k_min_iteration_work ? "they are short"
                          : loop.num_similar > 0                          ? "it ended before that was known"
                          : loop.iterations < 3 ? "it ended before they could be compared"
                          : loop.miss_overlap.value_or(1) < observe::LoopTree::k_min_miss_overlap
                              ? "each uses different memory"
                              : "they differ in work";
  return text.append(", but ").append(but).append("; --loop ").append(name).append(" selects it nevertheless");
}

std::string LoopFinder::selection_reason() const {
  constexpr double k_million = 1e6;
  const auto& loop = node(main_);
  const auto share = static_cast<double>(tree_.work_of(main_)) / static_cast<double>(tree_.now());
  const bool differ = loop.num_similar == 0 || loop.last_iteration_work < mean_iteration_work(main_) / 2;
  auto repeats = std::string("which miss in too little memory to compare it");
  if (differ)
    repeats = "which differ, but the second half of them is like the first";
  else if (loop.miss_overlap)
    repeats = "which miss in the same memory to " +
              std::to_string(static_cast<int>(100 * *loop.miss_overlap + 0.5)) + " %";
  char millions[32];
  std::snprintf(millions, sizeof millions, "%.3g",
                static_cast<double>(differ ? mean_iteration_work(main_) : loop.last_iteration_work) / k_million);
  const auto iterations =
      std::to_string(loop.iterations) + " iterations of " + (differ ? "on average " : "about ") + millions;
  if (by_clock_)
    return iterations + " million ticks of the processor's clock, " + rounded(100 * share) +
           " % of the run so far";
  return iterations + " million instructions, " + repeats + "; " + rounded(100 * share) + " % of the run so far";
}

profile::LoopsRecord LoopFinder::candidates() const {
  if (!wanted_.empty()) return {};
  return loop_candidates(tree_, name_of_, selected_, rejected_);
}

void LoopFinder::begin_loop(PhaseBoundary& boundary) {
  selected_.insert(main_);
  in_loop_ = true;
  boundary.begins_loop = name_of_(node(main_));
}

// Counts an event with its minimum work: calls and loops that are not closed do that much on average.
void LoopFinder::count_event(Index index, Work least) {
  ++num_events_;
  if (!is_observed_ && !node(index).is_pruned) work_since_exit_ += least;
}

// Returns whether the loop that was left may be re-entered at once, as the inner one of two loops or by another
// call.
bool LoopFinder::may_continue() const {
  const auto little = k_end_delay * static_cast<double>(node(main_).last_iteration_work);
  if (static_cast<double>(tree_.now() - exit_time_) >= little) return false;
  const auto events = num_events_ - events_at_exit_;
  if (is_observed_ || events < k_few_events) return true;  // early events may be small before that is known
  return static_cast<double>(events) < k_end_delay * static_cast<double>(events_per_iteration_) &&
         static_cast<double>(work_since_exit_) < little;
}

// Reports the end of the main loop once it is known not to continue.
void LoopFinder::end_finished_loop() {
  if (!in_loop_ || is_running_) return;
  if (may_continue()) return;
  in_loop_ = false;
  PhaseBoundary boundary;
  boundary.ends_loop = true;
  on_boundary_(boundary);
}

// --- its phases ----------------------------------------------------------------------------------------------

void LoopFinder::begin_iteration(PhaseBoundary& boundary) {
  events_per_iteration_ = num_events_ - std::exchange(events_at_iteration_, num_events_);
  first_count_ = 0;
  first_is_pending_ = phase_names_.contains(first_name_);
  begin_phase(first_name_, boundary);
  boundary.is_unsure = may_be_nested_in_main_loop();
}

// Returns whether an enclosing loop has too few iterations to be judged.
bool LoopFinder::may_be_nested_in_main_loop() const {
  if (!wanted_.empty() || tree_.work_of(main_) > k_max_unsure_work) return false;
  for (auto around = node(main_).around; around != k_none; around = node(around).around)
    if (node(around).is_loop && node(around).iterations < k_iterations_to_judge) return true;
  return false;
}

// The name of the first phase identifies an iteration, so further visits of that phase get a number.
void LoopFinder::begin_phase(std::string name, PhaseBoundary& boundary) {
  boundary.phase = std::move(name);
  if (boundary.phase == first_name_ && ++first_count_ > 1)
    boundary.phase.append("#").append(std::to_string(first_count_));
}

bool LoopFinder::is_phase(Index index) {
  if (is_phase_.size() <= index) is_phase_.resize(tree_.nodes().size());
  if (is_phase_[index] == Answer::unknown)
    is_phase_[index] =
        tree_.is_inside(index, main_) && !is_inside_phase(index) && phase_names_.contains(name_of_(node(index)))
            ? Answer::yes
            : Answer::no;
  return is_phase_[index] == Answer::yes;
}

bool LoopFinder::is_inside_phase(Index index) {
  for (auto around = node(index).around; around != main_; around = node(around).around)
    if (is_phase(around)) return true;
  return false;
}

}  // namespace terrace::runtime
