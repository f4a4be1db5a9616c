// SPDX-License-Identifier: Apache-2.0
// Represents a chain of parallel loops as a plain value, for the stencil library's planners and executors: for
// each loop its accesses, its range and its code. Loops are queued in a chain until a result is needed; planners
// and executors use this representation alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "terrace/stencil/grid.hpp"

namespace terrace::stencil {

enum class Access : std::uint8_t { read, write, read_write, increment };

[[nodiscard]] constexpr bool reads(Access access) { return access != Access::write; }
[[nodiscard]] constexpr bool writes(Access access) { return access != Access::read; }

using DatasetId = std::uint32_t;
using BlockId = std::uint32_t;

// Describes a loop's access to one dataset. Writes are at the loop's own point only; reads are at the stencil's
// offsets.
struct Argument {
  DatasetId dataset = 0;
  std::string_view name;  // the dataset's name, which outlives the chain
  Access access = Access::read;
  Stencil stencil;
  Point low{0, 0, 0};  // bounds of the stencil's offsets
  Point high{0, 0, 0};
  std::size_t element = 0;  // bytes
};

// Addresses a dataset: the address of its point (0, 0, 0), which need not be in memory, and the strides of rows
// and planes in elements.
struct View {
  std::byte* origin = nullptr;
  std::ptrdiff_t row = 0;
  std::ptrdiff_t plane = 0;
};

using ReductionId = std::uint32_t;

// Describes a reduction over a loop's points. Each row has a partial result, to which its points are added in
// the order of x. So the result does not depend on threads or tiles.
struct ReductionUse {
  ReductionId reduction = 0;
};

struct Loop;

// Parameters of a call that runs a part of a loop.
struct Call {
  const Loop& loop;
  Range range;                 // range of this part
  const View* views;           // by argument
  std::byte* const* partials;  // by reduction: one element for each row of the whole loop
};

// Parameters of a launch on a GPU, to enqueue on a CUDA stream. All addresses are device addresses.
struct DeviceCall {
  const Loop& loop;
  Range range;
  const View* views;
  std::byte* const* partials;
  const std::byte* const* lines;  // by line: its first value
  void* stream;                   // cudaStream_t
};

// Values along an axis that a loop uses, as of when the loop runs; indices [begin, end).
struct LineUse {
  std::shared_ptr<const void> owner;
  const std::byte* first = nullptr;
  std::size_t bytes = 0;
  std::size_t axis = 0;
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = 0;
};

struct Loop {
  std::string name;
  BlockId block = 0;
  Range range;
  std::vector<Argument> arguments;
  std::vector<ReductionUse> reductions;
  std::function<void(const Call&)> body;
  // Launches the kernel on a GPU asynchronously; empty if the program was not compiled for one.
  std::function<void(const DeviceCall&)> device{};
  std::vector<LineUse> lines{};
};

// Returns the index of a row in the partial results of the whole loop.
[[nodiscard]] inline std::size_t partial_row(const Range& whole, std::ptrdiff_t y, std::ptrdiff_t z) {
  return static_cast<std::size_t>((z - whole.begin[2]) * whole.length(1) + (y - whole.begin[1]));
}

// Returns the bytes that a loop reads and writes; see Statistics.
[[nodiscard]] inline double bytes_of(const Loop& loop) {
  double bytes = 0;
  for (const auto& argument : loop.arguments)
    bytes += static_cast<double>(argument.element) * (reads(argument.access) && writes(argument.access) ? 2 : 1);
  return bytes * static_cast<double>(loop.range.points());
}

using Chain = std::vector<Loop>;

}  // namespace terrace::stencil
