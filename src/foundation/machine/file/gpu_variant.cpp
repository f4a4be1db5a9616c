// SPDX-License-Identifier: Apache-2.0
// Implements gpu_variant.hpp.
#include "machine/file/gpu_variant.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace terrace::machine {

Machine with_remote_bandwidth(const Machine& machine, BytesPerSecond bandwidth) {
  auto parts = machine.parts();
  if (parts.gpus.empty()) throw Error(Code::invalid, "the machine " + machine.name() + " has no [[gpu]]");
  if (!(bandwidth.value > 0)) throw Error(Code::invalid, "a bandwidth above 0 is needed");
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
