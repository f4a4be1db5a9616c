// SPDX-License-Identifier: Apache-2.0
// Implements the part of LoopFinder that chooses the phases of the main loop, when the loop is selected. See
// loop_finder.hpp.
#include <algorithm>

#include "runtime/loop_finder.hpp"

namespace terrace::runtime {

namespace {

constexpr observe::Work k_min_visit_work = 1 << 16;  // mean work of a phase
constexpr double k_min_phase_share = 0.02;           // of an iteration's work, for a phase
constexpr double k_min_split_share = 0.25;  // of an iteration's work, for a phase that is split into its parts
constexpr double k_min_explained = 0.6;     // share of a phase's work that its parts do, for the phase to be split
constexpr double k_max_phases = 512;        // in an iteration

}  // namespace

double LoopFinder::work_per_iteration(Index index) const {
  const auto iterations = std::max<std::uint64_t>(node(main_).iterations, 1);
  return static_cast<double>(tree_.work_of(index)) / tree_.observed_share(index) / static_cast<double>(iterations);
}

double LoopFinder::visits_per_iteration(Index index) const {
  const auto iterations = std::max<std::uint64_t>(node(main_).iterations, 1);
  return static_cast<double>(node(index).visits) / tree_.observed_share(index) / static_cast<double>(iterations);
}

// Returns the calls and loops in a node that do enough work to be phases.
std::vector<LoopFinder::Index> LoopFinder::parts_of(Index index) const {
  std::vector<Index> parts;
  const auto least = k_min_phase_share * work_per_iteration(main_);
  for (const auto part : children_[index])
    if ((node(part).is_reported || observes_all_iterations_) && work_per_iteration(part) >= least &&
        tree_.work_of(part) >= node(part).visits * k_min_visit_work)
      parts.push_back(part);
  return parts;
}

bool LoopFinder::is_worth_splitting(Index index, const std::vector<Index>& parts) const {
  const auto& one = node(index);
  if (work_per_iteration(index) < k_min_split_share * work_per_iteration(main_)) return false;
  if (one.is_loop && one.iterations >= 2 * one.visits && one.num_similar == 0) return false;  // a sweep over data
  double explained = 0;
  double phases = 0;
  for (const auto part : parts) {
    explained += work_per_iteration(part);
    phases += visits_per_iteration(part);
  }
  // A single part that is visited once a visit would distinguish nothing.
  if (phases <= visits_per_iteration(index)) return false;
  return explained >= k_min_explained * work_per_iteration(index) &&
         phases_per_iteration_ + phases <= k_max_phases;
}

void LoopFinder::choose_phases_in(Index index) {
  for (const auto part : parts_of(index)) {
    if (is_worth_splitting(part, parts_of(part))) {
      choose_phases_in(part);
    } else {
      chosen_.push_back(part);
      phases_per_iteration_ += visits_per_iteration(part);
    }
  }
}

void LoopFinder::choose_phases() {
  const auto& nodes = tree_.nodes();
  children_.assign(nodes.size(), {});
  for (Index i = 1; i < nodes.size(); ++i) children_[nodes[i].around].push_back(i);
  phases_per_iteration_ = 0;
  chosen_.clear();
  choose_phases_in(main_);
  children_.clear();
  is_phase_.clear();
  phase_names_.clear();
  for (const auto one : chosen_) phase_names_.insert(name_of_(node(one)));
  // The work of an iteration before its first phase is a phase of its own, if it is large enough.
  const auto first = std::ranges::min_element(chosen_, {}, [this](Index one) { return begins_at(one); });
  const bool begins_with_it =
      first != chosen_.end() && begins_at(*first) < k_min_phase_share * work_per_iteration(main_);
  first_name_ = name_of_(node(begins_with_it ? *first : main_));
  if (!begins_with_it) phase_names_.erase(first_name_);
}

double LoopFinder::begins_at(Index index) const {
  Work at = 0;
  for (; index != main_; index = node(index).around) at += node(index).entry_offset;
  return static_cast<double>(at);
}

}  // namespace terrace::runtime
