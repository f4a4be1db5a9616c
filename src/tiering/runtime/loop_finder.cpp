// See loop_finder.hpp.
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
constexpr Work k_min_outermost_work = 1 << 14;  // the same for a loop that is in no other loop
constexpr Work k_ticks_of_work = 2;             // min clock ticks of a counted instruction whose hooks are idle
constexpr double k_majority_of_run = 0.5;
constexpr double k_nearly_all = 0.95;
constexpr double k_min_share_of_run = 0.05;  // of a main loop, in the work so far
constexpr std::uint64_t k_max_turns_before = std::numeric_limits<std::uint32_t>::max();
constexpr double k_gone = 0.1;  // of a turn: so long after its end a loop is over
constexpr std::uint64_t k_few_events = 16;
constexpr std::uint64_t k_turns_to_be_known = 4;  // of a loop around the main loop: it has been taken, or is none
// Work after which a visit of an inner loop no longer waits for the outer one: about 0.2 s on most cores. No share
// of the work tells whether the outer loop will iterate again. A wrong choice costs a plan and its moves: tens of
// MiB at some GB/s, about 20 ms. A visit ten times as long pays for that. If the visit is nearly all of the outer
// loop's work, its plan serves both, and an eighth suffices.
constexpr Work k_max_unsure_work = 1 << 29;
constexpr std::uint64_t k_observed_to_refute = 2;  // iterations: the first may be observed in part
constexpr double k_share_parts = 1e6;

std::string rounded(double share) { return std::to_string(static_cast<int>(share + 0.5)); }

}  // namespace

// --- the main loop -------------------------------------------------------------------------------------------

bool LoopFinder::is_wanted(Index index) {
  if (is_wanted_.size() <= index) is_wanted_.resize(tree_.nodes().size());
  auto& answer = is_wanted_[index];
  if (answer == Answer::unknown) {
    const auto name = name_of_(node(index));
    answer = name == wanted_ || (known_.empty() && is_meant(name)) ? Answer::yes : Answer::no;
  }
  return answer == Answer::yes;
}

// By its function, or by a pattern of the one name or the other.
bool LoopFinder::is_meant(const std::string& name) const {
  const auto function = name.substr(0, observe::loop_separator(name));
  const auto is_like = [this](const std::string& one) {
    return one == wanted_ || fnmatch(wanted_.c_str(), one.c_str(), 0) == 0;
  };
  return is_like(name) || is_like(function);
}

// A function's name, or a pattern, means the outermost of its loops.
bool LoopFinder::is_in_a_wanted_one(Index index) {
  for (auto around = node(index).around; around != k_none; around = node(around).around)
    if (node(around).is_loop && is_wanted(around)) return true;
  return false;
}

bool LoopFinder::deserves(Index index) {
  const auto& candidate = node(index);
  if (!wanted_.empty()) return main_ == k_none && known_.empty() && is_wanted(index) && !is_in_a_wanted_one(index);
  if (!refuted_.empty() && refuted_.contains(index)) return false;
  const auto work = static_cast<double>(tree_.work_of(index)) / static_cast<double>(tree_.now());
  if (work < k_min_share_of_run) return false;
  const auto least = min_iteration_work(index, work);
  const bool is_regular = candidate.num_similar != 0 && candidate.last_iteration_work >= least;
  if (!is_regular && !is_steady(index, work, least)) return false;
  if (waits_for_outer(index)) return false;
  return main_ == k_none || !is_running_ || (index != main_ && tree_.is_inside(main_, index));
}

// A loop within a step that is itself repeated runs as soon as the step does, and makes many turns before the step
// has made three. An outer loop of one or two turns would leave the run without a main loop, so a single visit
// that takes k_max_unsure_work work and does most of what the outer loop did so far does not wait, nor does one of
// an eighth of that which does nearly all of it.
bool LoopFinder::waits_for_outer(Index index) const {
  const auto visit = tree_.current_visit_work(index);
  const auto min_share = visit >= k_max_unsure_work       ? k_majority_of_run
                         : visit >= k_max_unsure_work / 8 ? k_nearly_all
                                                          : 1.0;
  for (auto around = node(index).around; around != k_none; around = node(around).around) {
    const auto& outer = node(around);
    if (!outer.is_loop || outer.iterations >= k_turns_to_be_known) continue;
    if (min_share == 1.0 ||
        static_cast<double>(visit) < min_share * static_cast<double>(tree_.current_visit_work(around)))
      return true;
  }
  return false;
}

bool LoopFinder::is_steady(Index index, double share, Work min_iteration_work) const {
  return node(index).is_steady && share >= k_majority_of_run && mean_turn(index) >= min_iteration_work;
}

Work LoopFinder::mean_turn(Index index) const {
  return tree_.work_of(index) / std::max<std::uint64_t>(node(index).iterations, 1);
}

// Short turns are those of a loop that is part of something that repeats; one that is not, and does most of what
// was done so far, is what there is.
Work LoopFinder::min_iteration_work(Index index, double share) const {
  if (share < k_majority_of_run) return k_min_iteration_work;
  for (auto around = node(index).around; around != k_none; around = node(around).around)
    if (node(around).is_loop) return k_min_iteration_work;
  return by_clock_ ? k_ticks_of_work * k_min_outermost_work : k_min_outermost_work;
}

void LoopFinder::on_iteration(Index index) {
  hear(index, observe::LoopTree::k_min_iteration_work);
  give_up_ended();
  if (index == main_ && is_running_) {
    if (is_refuted()) return refute();
    Boundary boundary;
    begin_turn(boundary);
    pass_(boundary);
  } else if (deserves(index)) {
    believe(index);
  }
}

void LoopFinder::on_enter(Index index) {
  hear(index, observe::LoopTree::k_min_visit_work);
  give_up_ended();
  if (!known_.empty() && !is_running_ && index != main_ && is_wanted(index)) take_known(index);
  if (index == main_) {
    is_running_ = true;
    Boundary boundary;
    if (!in_loop_) begin_loop(boundary);
    begin_turn(boundary);
    pass_(boundary);
    return;
  }
  if (!is_running_ || !is_phase(index)) return;
  auto name = name_of_(node(index));
  if (name == first_name_ && std::exchange(first_is_to_come_, false)) return;
  Boundary boundary;
  begin_phase(std::move(name), boundary);
  pass_(boundary);
}

// Of whose phases the names are known.
void LoopFinder::take_known(Index index) {
  main_ = index;
  is_phase_.clear();
  names_ = {known_.begin(), known_.end()};
  first_name_ = known_.front();
  if (first_name_ == wanted_) names_.erase(first_name_);
}

void LoopFinder::on_exit(Index index) {
  ++events_;
  if (index == main_) {
    is_running_ = false;
    left_at_ = tree_.now();
    events_left_ = events_;
    work_heard_ = 0;
    // What comes after it may be one long loop without calls.
    tree_.notify_at(left_at_ + static_cast<Work>(k_gone * static_cast<double>(node(main_).last_iteration_work)) +
                    1);
  }
  give_up_ended();
}

void LoopFinder::on_unobserved_iteration_end(Index index) {
  if (index != main_ || !is_running_) return;
  Boundary boundary;
  boundary.expects_iteration = true;
  pass_(boundary);
}

void LoopFinder::set_seen(bool seen) {
  is_seen_ = seen;
  tree_.set_unobserved(seen ? k_none : main_);
}

// The clock also runs in libraries without hooks, whose instructions `record` and `simulate` do not count: a loop
// that parses a file by strtod has long iterations by the clock, short ones by counted instructions. The counted
// instructions decide, so that all subcommands find the same loop.
bool LoopFinder::is_refuted() const {
  const auto& loop = node(main_);
  return by_clock_ && loop.unobserved >= k_observed_to_refute && loop.max_hook_work != 0 &&
         loop.max_hook_work < min_counted_;
}

void LoopFinder::refute() {
  refuted_.insert(main_);
  told_[main_] = node(main_).iterations;
  main_ = k_none;
  in_loop_ = is_running_ = false;
  Boundary boundary;
  boundary.ends_loop = true;
  pass_(boundary);
}

void LoopFinder::believe(Index index) {
  if (main_ != k_none) told_[main_] = node(main_).iterations;
  main_ = index;
  is_running_ = true;
  const auto least =
      min_iteration_work(index, static_cast<double>(tree_.work_of(index)) / static_cast<double>(tree_.now()));
  const bool is_regular = node(index).num_similar != 0 && node(index).last_iteration_work >= least;
  // Irregular iterations are not checked: a few observed ones do not represent the mean.
  min_counted_ = wanted_.empty() && is_regular ? least / k_ticks_of_work : 0;
  choose_phases();
  Boundary boundary;
  boundary.ends_loop = in_loop_;
  begin_loop(boundary);
  if (wanted_.empty()) boundary.why = why();
  boundary.turns_before =
      static_cast<std::uint32_t>(std::min(node(main_).iterations - told_[main_], k_max_turns_before));
  // Recordings have whole millionths (sim/recording/recording_format.hpp): a replay is told the same.
  const auto share = std::min(static_cast<double>(boundary.turns_before) * static_cast<double>(mean_turn(main_)) /
                                  static_cast<double>(std::max<Work>(tree_.now(), 1)),
                              1.0);
  boundary.work_share = static_cast<double>(static_cast<std::uint64_t>(share * k_share_parts)) / k_share_parts;
  begin_turn(boundary);
  pass_(boundary);
}

std::string LoopFinder::nothing_found() const {
  if (main_ != k_none) return {};
  if (!known_.empty())
    return "the plan is for the loop " + wanted_ + ", which was not entered; " + what_there_was();
  if (wanted_.empty()) return what_there_was();
  for (Index i = 1; i < tree_.nodes().size(); ++i)
    if (const auto name = name_of_(node(i)); node(i).is_loop && is_meant(name))
      return "the loop " + name + " did not go round twice; " + what_there_was();
  return "no loop called " + wanted_ + " was entered; " + what_there_was();
}

std::string LoopFinder::what_there_was() const {
  auto largest = k_none;
  for (Index i = 1; i < tree_.nodes().size(); ++i)
    if (node(i).is_loop && node(i).iterations > 1 &&
        (largest == k_none || tree_.work_of(i) > tree_.work_of(largest)))
      largest = i;
  if (largest == k_none) return "no loop went round twice";
  const auto& loop = node(largest);
  const auto share = 100 * static_cast<double>(tree_.work_of(largest)) / static_cast<double>(tree_.now());
  const auto name = name_of_(loop);
  auto text = "the largest loop, " + name + ", does " + rounded(share) + " % of the work in " +
              std::to_string(loop.iterations) + " turns";
  if (!wanted_.empty()) return text;
  const char* const but = loop.last_iteration_work < k_min_iteration_work ? "they are short"
                          : loop.num_similar > 0                          ? "it was over when that was known"
                          : loop.iterations < 3 ? "it was over before they could be compared"
                          : loop.miss_overlap.value_or(1) < observe::LoopTree::k_min_miss_overlap
                              ? "they miss in other memory each time"
                              : "they take much more work one time than another";
  return text.append(", but ").append(but).append("; --loop ").append(name).append(" takes it all the same");
}

std::string LoopFinder::why() const {
  constexpr double k_million = 1e6;
  const auto& loop = node(main_);
  const auto share = static_cast<double>(tree_.work_of(main_)) / static_cast<double>(tree_.now());
  const bool differ = loop.num_similar == 0 || loop.last_iteration_work < mean_turn(main_) / 2;
  auto repeats = std::string("which miss in too little memory to compare it");
  if (differ)
    repeats = "which differ, but the second half of them is like the first";
  else if (loop.miss_overlap)
    repeats = "which miss in the same memory to " +
              std::to_string(static_cast<int>(100 * *loop.miss_overlap + 0.5)) + " %";
  char millions[32];
  std::snprintf(millions, sizeof millions, "%.3g",
                static_cast<double>(differ ? mean_turn(main_) : loop.last_iteration_work) / k_million);
  const auto turns =
      std::to_string(loop.iterations) + " iterations of " + (differ ? "on average " : "about ") + millions;
  if (by_clock_)
    return turns + " million ticks of the processor's clock, " + rounded(100 * share) + " % of the run so far";
  return turns + " million instructions, " + repeats + "; " + rounded(100 * share) + " % of the run so far";
}

profile::LoopsRecord LoopFinder::candidates() const {
  if (!wanted_.empty()) return {};
  return loop_candidates(tree_, name_of_, taken_, refuted_);
}

void LoopFinder::begin_loop(Boundary& boundary) {
  taken_.insert(main_);
  in_loop_ = true;
  boundary.begins_loop = name_of_(node(main_));
}

// Adds the least work of the event: calls and loops that are not closed do that much on average.
void LoopFinder::hear(Index index, Work least) {
  ++events_;
  if (!is_seen_ && !node(index).is_pruned) work_heard_ += least;
}

// As the inner one of two loops, or called again at once.
bool LoopFinder::may_go_on() const {
  const auto little = k_gone * static_cast<double>(node(main_).last_iteration_work);
  if (static_cast<double>(tree_.now() - left_at_) >= little) return false;
  const auto events = events_ - events_left_;
  if (is_seen_ || events < k_few_events) return true;  // the first ones may be small without being known to be
  return static_cast<double>(events) < k_gone * static_cast<double>(events_in_a_turn_) &&
         static_cast<double>(work_heard_) < little;
}

void LoopFinder::give_up_ended() {
  if (!in_loop_ || is_running_) return;
  if (may_go_on()) return;
  in_loop_ = false;
  Boundary boundary;
  boundary.ends_loop = true;
  pass_(boundary);
}

// --- its phases ----------------------------------------------------------------------------------------------

void LoopFinder::begin_turn(Boundary& boundary) {
  events_in_a_turn_ = events_ - std::exchange(events_turned_, events_);
  times_first_ = 0;
  first_is_to_come_ = names_.contains(first_name_);
  begin_phase(first_name_, boundary);
  boundary.is_unsure = may_be_a_part();
}

// Of a loop around it that has not turned often enough to be known.
bool LoopFinder::may_be_a_part() const {
  if (!wanted_.empty() || tree_.work_of(main_) > k_max_unsure_work) return false;
  for (auto around = node(main_).around; around != k_none; around = node(around).around)
    if (node(around).is_loop && node(around).iterations < k_turns_to_be_known) return true;
  return false;
}

// An iteration is known by the name of its first phase, so no other phase has it.
void LoopFinder::begin_phase(std::string name, Boundary& boundary) {
  boundary.phase = std::move(name);
  if (boundary.phase == first_name_ && ++times_first_ > 1)
    boundary.phase.append("#").append(std::to_string(times_first_));
}

bool LoopFinder::is_phase(Index index) {
  if (is_phase_.size() <= index) is_phase_.resize(tree_.nodes().size());
  if (is_phase_[index] == Answer::unknown)
    is_phase_[index] =
        tree_.is_inside(index, main_) && !is_in_a_phase(index) && names_.contains(name_of_(node(index)))
            ? Answer::yes
            : Answer::no;
  return is_phase_[index] == Answer::yes;
}

bool LoopFinder::is_in_a_phase(Index index) {
  for (auto around = node(index).around; around != main_; around = node(around).around)
    if (is_phase(around)) return true;
  return false;
}

}  // namespace terrace::runtime
