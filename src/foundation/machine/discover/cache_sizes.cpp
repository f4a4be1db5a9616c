// SPDX-License-Identifier: Apache-2.0
// Implements cache_sizes.hpp.
#include "machine/discover/cache_sizes.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace terrace::machine {

Machine with_cache_sizes(const Machine& machine, const std::vector<std::string>& sizes) {
  auto parts = machine.parts();
  for (const auto& text : sizes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) throw Error(Code::invalid, "--cache: '" + text + "' is not name=size");
    const auto name = text.substr(0, equals);
    bool found = false;
    std::string known;  // its caches, as the message lists them
    for (auto& initiator : parts.initiators)
      for (auto& cache : initiator.caches) {
        known.append(known.empty() ? "" : ", ").append(cache.name);
        if (cache.name != name) continue;
        // A cache consists of whole sets: round the size down to a multiple of lines x ways.
        const auto set = parts.line.value * cache.ways;
        cache.size = Bytes{std::max(parse_bytes(text.substr(equals + 1)).value / set, std::uint64_t{1}) * set};
        found = true;
      }
    if (found) continue;
    auto message = "--cache: " + parts.name;
    message.append(" has no cache '").append(name).append("'; it has ").append(known);
    throw Error(Code::invalid, message);
  }
  return Machine(std::move(parts));
}

Machine with_core_time(const Machine& machine, Seconds instruction_time) {
  if (!(instruction_time.value > 0)) throw Error(Code::invalid, "--core-time: it must be above 0");
  auto parts = machine.parts();
  for (auto& initiator : parts.initiators) initiator.instruction_time = instruction_time;
  return Machine(std::move(parts));
}

}  // namespace terrace::machine
