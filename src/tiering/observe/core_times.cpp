// SPDX-License-Identifier: Apache-2.0
// Looks up the instruction times that `--core-time` sets for phases, and serialises them for the user's process.
// See core_times.hpp.
#include "observe/core_times.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace terrace::observe {

std::optional<Seconds> CoreTimes::find(const std::string& phase) const {
  const auto found = std::ranges::find_if(
      phases, [&](const PhasePattern& one) { return fnmatch(one.pattern.c_str(), phase.c_str(), 0) == 0; });
  if (found == phases.end()) return std::nullopt;
  return found->instruction;
}

void CoreTimes::to_blob(BlobWriter& out) const {
  out.put(static_cast<std::uint32_t>(phases.size()));
  for (const auto& [pattern, instruction] : phases) {
    out.put(pattern);
    out.put(instruction.value);
  }
  out.put(static_cast<std::uint32_t>(functions.size()));
  for (const auto& [name, instruction] : functions) {
    out.put(name);
    out.put(instruction.value);
  }
}

CoreTimes CoreTimes::from_blob(BlobReader& in) {
  CoreTimes times;
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    auto pattern = in.get_string();
    times.phases.push_back({std::move(pattern), {in.get<double>()}});
  }
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    auto name = in.get_string();
    times.functions[std::move(name)] = Seconds{in.get<double>()};
  }
  return times;
}

}  // namespace terrace::observe
