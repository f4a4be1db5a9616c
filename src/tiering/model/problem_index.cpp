// SPDX-License-Identifier: Apache-2.0
// See problem_index.hpp.
#include "model/problem_index.hpp"

#include "core/segment_name.hpp"
#include "model/moves.hpp"

namespace terrace::model {

ProblemIndex::ProblemIndex(const Problem& problem)
    : problem_(&problem),
      uses_(uses_by_item(problem)),
      touched_(problem.items.size() * problem.phases.size(), 0),
      rank_(speed_ranks(problem)) {
  for (std::size_t i = 0; i < uses_.size(); ++i)
    for (const auto& use : uses_[i]) touched_[i * problem.phases.size() + use.phase] = 1;
  for (std::size_t d = 0; d < domain_count(problem); ++d)
    homes_.push_back(home_of(problem, static_cast<DomainId>(d)));
  for (const auto& phase : problem.phases) segment_.push_back(segment_offset(phase.name) != 0);
}

}  // namespace terrace::model
