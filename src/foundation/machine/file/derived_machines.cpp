// SPDX-License-Identifier: Apache-2.0
// Derives machines with other cache sizes, core times or link bandwidths, for the options `--cache` and
// `--core-time` and the Python package. See derived_machines.hpp.
#include "machine/file/derived_machines.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace terrace::machine {

Machine with_cache_sizes(const Machine& machine, const std::vector<std::string>& sizes) {
  auto parts = machine.parts();
  for (const auto& text : sizes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      throw Error(Code::invalid, "--cache: '" + text + "' is not NAME=SIZE; write for example l3=640KiB");
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
  if (!(instruction_time.value > 0))
    throw Error(Code::invalid, "--core-time: the time must be above 0; write for example 0.5ns");
  auto parts = machine.parts();
  for (auto& initiator : parts.initiators) initiator.instruction_time = instruction_time;
  return Machine(std::move(parts));
}

Machine with_remote_bandwidth(const Machine& machine, BytesPerSecond bandwidth) {
  auto parts = machine.parts();
  if (parts.gpus.empty())
    throw Error(Code::invalid,
                "the machine " + machine.name() + " has no [[gpu]]; name one that has, such as gtx480-ddr4");
  if (!(bandwidth.value > 0))
    throw Error(Code::invalid,
                "the bandwidth of remote memory must be above 0, and " + format(bandwidth) + " was given");
  auto& gpu = parts.gpus.front();
  const auto& own = gpu.memories[0];
  auto& remote = gpu.memories[1];
  remote.bytes_per_second = bandwidth.value;
  const auto needed = std::ceil(bandwidth.value * own.channels / own.bytes_per_second);
  remote.channels = std::max(remote.channels, static_cast<std::uint32_t>(needed));
  for (auto& path : parts.paths)
    if (path.initiator == gpu.initiator && path.place == remote.place)
      path.read = path.write = BytesPerSecond{remote.reached_bytes_per_second()};
  std::erase_if(parts.copies,
                [&](const auto& copy) { return copy.from == remote.place || copy.to == remote.place; });
  return Machine(std::move(parts));
}

}  // namespace terrace::machine
