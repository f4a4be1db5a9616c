// SPDX-License-Identifier: Apache-2.0
// Packs the lines (values along one axis) and the partial results of a chain's reductions into one buffer, copies
// it to the GPU, and copies the results back. The executor `gpu` calls it around each chain.
#include "stencil/cuda/chain_launch_data.hpp"

#include <cstring>
#include <map>

namespace terrace::stencil::cuda {
namespace {

constexpr std::size_t k_alignment = 256;

}  // namespace

std::size_t ChainLaunchData::append(const std::byte* from, std::size_t size) {
  const auto at = (host_.size() + k_alignment - 1) / k_alignment * k_alignment;
  host_.resize(at + size);
  if (size > 0) std::memcpy(&host_[at], from, size);
  return at;
}

void ChainLaunchData::upload(std::span<const ActiveLoop> loops, const CommandStream& stream) {
  host_.clear();
  places_.assign(loops.size(), {});
  for (std::size_t l = 0; l < loops.size(); ++l)
    for (const auto& partial : loops[l].partials)
      places_[l].partials_at.push_back(append(partial.data(), partial.size()));
  partials_end_ = host_.size();
  // Many loops share lines: upload each once.
  std::map<const std::byte*, std::size_t> lines;
  for (const auto& running : loops)
    for (const auto& line : running.loop->lines)
      if (!lines.contains(line.first)) lines[line.first] = append(line.first, line.bytes);
  if (host_.empty()) return;
  const auto& driver = device_.driver();
  if (buffer_.size() < host_.size()) {
    buffer_ = Buffer();
    buffer_ = Buffer(device_, host_.size() * 3 / 2, "lines and partial results");
  }
  driver.check(driver.copy_to_device(buffer_.address(), host_.data(), host_.size(), stream.handle()),
               "lines cannot be copied to the GPU");
  const auto address = [&](std::size_t at) {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(buffer_.address() + at));
  };
  for (std::size_t l = 0; l < loops.size(); ++l) {
    for (const auto at : places_[l].partials_at) places_[l].partials.push_back(address(at));
    for (const auto& line : loops[l].loop->lines) places_[l].lines.push_back(address(lines[line.first]));
  }
}

void ChainLaunchData::download(const CommandStream& stream) {
  if (partials_end_ == 0) return;
  const auto& driver = device_.driver();
  driver.check(driver.copy_to_host(host_.data(), buffer_.address(), partials_end_, stream.handle()),
               "results cannot be copied from the GPU");
}

void ChainLaunchData::collect(std::span<ActiveLoop> loops) const {
  for (std::size_t l = 0; l < loops.size(); ++l)
    for (std::size_t use = 0; use < loops[l].partials.size(); ++use) {
      auto& partial = loops[l].partials[use];
      if (!partial.empty()) std::memcpy(partial.data(), &host_[places_[l].partials_at[use]], partial.size());
    }
}

}  // namespace terrace::stencil::cuda
