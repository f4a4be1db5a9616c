#include "runtime/phase_source.hpp"

#include <algorithm>

namespace terrace::runtime {

Boundary PhaseSources::function_entered(std::uint64_t function, bool in_loop) {
  switch (spec_.source) {
    case PhaseSource::functions:
      return named(function, in_loop);
    case PhaseSource::automatic:
      return found(function, in_loop);
    case PhaseSource::markers:
      break;
  }
  return {};
}

// The first of the functions begins the loop, and every iteration.
Boundary PhaseSources::named(std::uint64_t function, bool in_loop) {
  auto name = name_of(function);
  const auto& wanted = spec_.functions;
  const auto match = std::find(wanted.begin(), wanted.end(), name);
  if (match == wanted.end()) return {};
  entered_[static_cast<std::size_t>(match - wanted.begin())] = true;
  Boundary boundary;
  if (!in_loop && match == wanted.begin()) boundary.begins_loop = "(functions)";
  if (in_loop || !boundary.begins_loop.empty()) boundary.phase = std::move(name);
  return boundary;
}

// Every entry goes to the finder until it believes in a loop.
Boundary PhaseSources::found(std::uint64_t function, bool in_loop) {
  const auto [entry, is_new] = numbers_.try_emplace(function, static_cast<std::uint32_t>(numbers_.size()));
  if (is_new) names_.push_back(name_of(function));
  const auto step = finder_.entered(entry->second);
  Boundary boundary;
  if (step.event == PhaseFinder::Event::broken) {
    boundary.ends_loop = true;
    return boundary;
  }
  if (step.event == PhaseFinder::Event::none) return boundary;
  if (!in_loop) boundary.begins_loop = "(found)";
  // Names are made unique by their position: the tracker knows an iteration by the name of its first phase.
  const auto& period = finder_.period();
  const auto& name = names_[entry->second];
  const auto same = std::count(period.begin(), period.begin() + step.position, period[step.position]);
  boundary.phase = same == 0 ? name : name + "#" + std::to_string(same + 1);
  return boundary;
}

std::vector<std::string> PhaseSources::missing() const {
  std::vector<std::string> names;
  if (spec_.source != PhaseSource::functions) return names;
  for (std::size_t i = 0; i < entered_.size(); ++i)
    if (!entered_[i]) names.push_back(spec_.functions[i]);
  return names;
}

}  // namespace terrace::runtime
