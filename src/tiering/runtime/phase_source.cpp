// SPDX-License-Identifier: Apache-2.0
// Converts entries of the functions that --phases names to phase boundaries. Called by the runtime. See
// phase_source.hpp.
#include "runtime/phase_source.hpp"

#include <algorithm>

namespace terrace::runtime {

PhaseBoundary PhaseSourceSelector::function_entered(std::uint64_t function, bool in_loop) {
  return spec_.source == PhaseSource::functions ? boundary_at(function, in_loop) : PhaseBoundary{};
}

// The first of the named functions begins the loop and every iteration.
PhaseBoundary PhaseSourceSelector::boundary_at(std::uint64_t function, bool in_loop) {
  auto name = name_of(function);
  const auto& wanted = spec_.functions;
  const auto match = std::find(wanted.begin(), wanted.end(), name);
  if (match == wanted.end()) return {};
  entered_[static_cast<std::size_t>(match - wanted.begin())] = true;
  PhaseBoundary boundary;
  if (!in_loop && match == wanted.begin()) boundary.begins_loop = "(functions)";
  if (in_loop || !boundary.begins_loop.empty()) boundary.phase = std::move(name);
  return boundary;
}

std::vector<std::string> PhaseSourceSelector::functions_not_entered() const {
  std::vector<std::string> names;
  if (spec_.source != PhaseSource::functions) return names;
  for (std::size_t i = 0; i < entered_.size(); ++i)
    if (!entered_[i]) names.push_back(spec_.functions[i]);
  return names;
}

}  // namespace terrace::runtime
