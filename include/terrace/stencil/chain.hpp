// SPDX-License-Identifier: Apache-2.0
// A chain of parallel loops as a value: what each does to which dataset, where, and the code that does it. Loops
// wait in a chain until something is asked back; what plans and runs a chain knows loops by this alone.
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

// What a loop does to one dataset. It writes at its own point alone; it reads at the offsets.
struct Argument {
  DatasetId dataset = 0;
  std::string_view name;  // of the dataset, which outlives the chain
  Access access = Access::read;
  Stencil stencil;
  Point low{0, 0, 0};  // of the stencil's offsets
  Point high{0, 0, 0};
  std::size_t element = 0;  // bytes
};

// Where a loop finds a dataset: the address of its point 0, 0, 0, which need not be in memory, and how many
// elements apart the rows and the planes are.
struct View {
  std::byte* origin = nullptr;
  std::ptrdiff_t row = 0;
  std::ptrdiff_t plane = 0;
};

using ReductionId = std::uint32_t;

// A result that a loop makes of all its points. Each row of the loop has a partial result, which its points enter
// in the order of x; so the result does not depend on who computes which row, nor in how many pieces.
struct ReductionUse {
  ReductionId reduction = 0;
};

struct Loop;

// A part of a loop that is to be done.
struct Call {
  const Loop& loop;
  Range range;                 // of this part
  const View* views;           // by argument
  std::byte* const* partials;  // by use of a reduction: an element for each row of the whole loop
};

// The same on a GPU: what is to be put into a stream. All addresses are the device's.
struct DeviceCall {
  const Loop& loop;
  Range range;
  const View* views;
  std::byte* const* partials;
  const std::byte* const* lines;  // by use of a line: its first number
  void* stream;                   // CUDA's
};

// Numbers along an axis that a loop uses, as they are when the loop runs, from `begin` up to, and not with, `end`.
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
  // Launches the kernel on a GPU, and does not wait for it; empty where the program was not compiled for one.
  std::function<void(const DeviceCall&)> device{};
  std::vector<LineUse> lines{};
};

// The first row of a part in the partial results.
[[nodiscard]] inline std::size_t partial_row(const Range& whole, std::ptrdiff_t y, std::ptrdiff_t z) {
  return static_cast<std::size_t>((z - whole.begin[2]) * whole.length(1) + (y - whole.begin[1]));
}

// Bytes that a loop reads and writes, see Statistics.
[[nodiscard]] inline double bytes_of(const Loop& loop) {
  double bytes = 0;
  for (const auto& argument : loop.arguments)
    bytes += static_cast<double>(argument.element) * (reads(argument.access) && writes(argument.access) ? 2 : 1);
  return bytes * static_cast<double>(loop.range.points());
}

using Chain = std::vector<Loop>;

}  // namespace terrace::stencil
