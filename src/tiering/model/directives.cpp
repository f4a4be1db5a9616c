// SPDX-License-Identifier: Apache-2.0
// Looks up the user's directives (an object is used in a phase, or it is not), serialises them, and applies them
// to a placement problem for make_problem(). See directives.hpp.
#include "model/directives.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "core/segment_name.hpp"
#include "model/problem.hpp"

namespace terrace::model {
namespace {

// Returns, by object, whether directives declare it used in a phase of that name.
std::vector<std::optional<bool>> declared_uses(const Problem& problem, const Directives& directives,
                                               std::string_view phase) {
  std::vector<std::optional<bool>> declared;
  for (const auto& object : problem.objects) declared.push_back(directives.used(phase, object.name));
  return declared;
}

// Returns the number of segments of the phase that contains segment `k`; 1 for an undivided phase.
std::size_t count_segments(const Problem& problem, std::size_t k) {
  const auto is_continuation = [&](std::size_t n) {
    return n < problem.phases.size() && segment_offset(problem.phases[n].name) != 0;
  };
  auto first = k;
  while (first > 0 && is_continuation(first)) --first;
  auto end = first + 1;
  while (is_continuation(end)) ++end;
  return end - first;
}

// Returns the cell (traffic of an item in a phase) of one sequential read of `share` of the item.
// `exposed_by_a_byte`: latencies that the core waits for per byte, although the prefetcher fetches it.
ItemCell one_sweep(const Item& item, std::uint32_t number, const ProblemPhase& phase, double share,
                   double exposed_by_a_byte) {
  const auto bytes = share * static_cast<double>(item.size.value);
  return {number, bytes, 0, bytes * exposed_by_a_byte, phase.samples_with_access};
}

}  // namespace

bool matches_name(const std::string& name_or_pattern, const std::string& name) {
  return name_or_pattern == name || fnmatch(name_or_pattern.c_str(), name.c_str(), 0) == 0;
}

std::optional<bool> Directives::used(std::string_view phase, const std::string& object) const {
  const std::string uncut(phase_of_segment(phase));
  for (const auto& one : all_)
    if (matches_name(one.phase, uncut) && matches_name(one.object, object)) return one.used;
  return std::nullopt;
}

void Directives::to_blob(BlobWriter& out) const {
  out.put(static_cast<std::uint32_t>(all_.size()));
  for (const auto& one : all_) {
    out.put(one.phase);
    out.put(one.object);
    out.put(one.used);
  }
}

Directives Directives::from_blob(BlobReader& in) {
  Directives directives;
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    auto phase = in.get_string();
    auto object = in.get_string();
    directives.add({std::move(phase), std::move(object), in.get<bool>()});
  }
  return directives;
}

void exclude_unused(Problem& problem, const Directives& directives) {
  if (directives.empty()) return;
  for (auto& phase : problem.phases) {
    const auto declared = declared_uses(problem, directives, phase.name);
    std::erase_if(phase.cells, [&](const ItemCell& cell) {
      const auto& used = declared[problem.items[cell.item].object];
      return used && !*used;
    });
  }
}

void add_declared_uses(Problem& problem, const Directives& directives, double exposed_by_a_byte) {
  if (directives.empty()) return;
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    auto& phase = problem.phases[k];
    const auto declared = declared_uses(problem, directives, phase.name);
    const auto share = 1.0 / static_cast<double>(count_segments(problem, k));
    std::vector<bool> seen(problem.items.size(), false);
    for (const auto& cell : phase.cells) seen[cell.item] = true;
    for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
      const auto& used = declared[problem.items[i].object];
      if (used && *used && !seen[i])
        phase.cells.push_back(one_sweep(problem.items[i], i, phase, share, exposed_by_a_byte));
    }
    std::ranges::stable_sort(phase.cells, {}, &ItemCell::item);
  }
}

}  // namespace terrace::model
