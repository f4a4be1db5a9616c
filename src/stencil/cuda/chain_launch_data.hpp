// SPDX-License-Identifier: Apache-2.0
// Gathers what kernels of a chain need on a GPU besides datasets: lines (values along one axis) and the partial
// results of reductions. All lie contiguously, in host memory and in one device buffer, and are copied as a whole.
// Used by the executor `gpu`, once for each chain.
#pragma once

#include <span>
#include <vector>

#include "stencil/cuda/device.hpp"
#include "stencil/execute/active_loop.hpp"

namespace terrace::stencil::cuda {

class ChainLaunchData {
 public:
  explicit ChainLaunchData(const Device& device) : device_(device) {}
  // Gathers the data of the loops, whose partial results are the identity, and enqueues their upload. Throws
  // Error{no_memory}.
  void upload(std::span<const ActiveLoop> loops, const CommandStream& stream);
  // Enqueues the download; call collect() when it has finished.
  void download(const CommandStream& stream);
  // Copies the downloaded partial results to the loops.
  void collect(std::span<ActiveLoop> loops) const;

  // Return device addresses for a loop, by its index.
  [[nodiscard]] std::byte* const* partials(std::size_t loop) const { return places_[loop].partials.data(); }
  [[nodiscard]] const std::byte* const* lines(std::size_t loop) const { return places_[loop].lines.data(); }

 private:
  struct Places {
    std::vector<std::byte*> partials;
    std::vector<const std::byte*> lines;
    std::vector<std::size_t> partials_at;  // offsets in host_
  };
  [[nodiscard]] std::size_t append(const std::byte* from, std::size_t size);

  const Device& device_;
  std::vector<std::byte> host_;
  std::size_t partials_end_ = 0;  // partial results come first in host_
  Buffer buffer_;
  std::vector<Places> places_;
};

}  // namespace terrace::stencil::cuda
