// SPDX-License-Identifier: Apache-2.0
// What the loops of a chain need on a GPU besides datasets: the numbers of lines, and partial results. All lie one
// behind the other, in memory of the host and in a buffer of the device, and are copied as a whole.
#pragma once

#include <span>
#include <vector>

#include "stencil/cuda/device.hpp"
#include "stencil/execute/active_loop.hpp"

namespace terrace::stencil::cuda {

class ChainLaunchData {
 public:
  explicit ChainLaunchData(const Device& device) : device_(device) {}
  // Of loops whose partial results are as those of no points: puts their copy into the stream. Throws
  // Error{no_memory}.
  void upload(std::span<const ActiveLoop> loops, const CommandStream& stream);
  // Puts the copy back into the stream; collect() once that is done.
  void download(const CommandStream& stream);
  void collect(std::span<ActiveLoop> loops) const;

  // Of a loop, by number: where they are on the device.
  [[nodiscard]] std::byte* const* partials(std::size_t loop) const { return places_[loop].partials.data(); }
  [[nodiscard]] const std::byte* const* lines(std::size_t loop) const { return places_[loop].lines.data(); }

 private:
  struct Places {
    std::vector<std::byte*> partials;
    std::vector<const std::byte*> lines;
    std::vector<std::size_t> partials_at;  // in host_
  };
  [[nodiscard]] std::size_t append(const std::byte* from, std::size_t size);

  const Device& device_;
  std::vector<std::byte> host_;
  std::size_t partials_end_ = 0;  // these come first
  Buffer buffer_;
  std::vector<Places> places_;
};

}  // namespace terrace::stencil::cuda
