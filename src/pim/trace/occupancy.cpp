// SPDX-License-Identifier: Apache-2.0
// Colours the units of PIM devices by the blocks that hold them, so that neighbours differ. Called by the Python
// module for the maps of `terrace lab pim`.
#include "pim/trace/occupancy.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace terrace::pim {
namespace {

// The map of colours; blocks are painted in order of their first unit.
class Map {
 public:
  explicit Map(const Geometry& geometry) : geometry_(geometry), cells_(geometry.units(), 0) {}

  // Paints a block in the shade that touches its edges least.
  void paint(const LiveBlock& live) {
    const auto device = live.block.device, subarray = live.block.subarray, row = live.block.row;
    const auto& shape = live.block.shape;
    const auto base = static_cast<std::uint8_t>(live.dim == Dim::horizontal ? 1 : 1 + k_shades);
    std::array<std::uint32_t, k_shades> beside{};  // units of each shade along the block's edges
    const auto meet = [&](std::uint32_t at_row, std::uint32_t at_subarray) {
      const auto cell = cells_[unit(device, at_row, at_subarray)];
      if (cell >= base && cell < base + k_shades) ++beside[cell - base];
    };
    for (std::uint32_t i = 0; i < shape.rows; ++i) {
      if (subarray > 0) meet(row + i, subarray - 1);
      if (subarray + shape.subarrays < geometry_.width()) meet(row + i, subarray + shape.subarrays);
    }
    for (std::uint32_t i = 0; i < shape.subarrays; ++i) {
      if (row > 0) meet(row - 1, subarray + i);
      if (row + shape.rows < geometry_.rows) meet(row + shape.rows, subarray + i);
    }
    const auto shade = std::ranges::min_element(beside) - beside.begin();
    for (std::uint32_t i = 0; i < shape.rows; ++i)
      std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(unit(device, row + i, subarray)), shape.subarrays,
                  static_cast<std::uint8_t>(base + shade));
  }

  [[nodiscard]] std::vector<std::uint8_t> take() { return std::move(cells_); }

 private:
  [[nodiscard]] std::size_t unit(std::uint32_t device, std::uint32_t row, std::uint32_t subarray) const {
    return (std::size_t{device} * geometry_.rows + row) * geometry_.width() + subarray;
  }

  const Geometry& geometry_;
  std::vector<std::uint8_t> cells_;
};

}  // namespace

std::vector<std::uint8_t> occupancy_of(const Geometry& geometry, std::vector<LiveBlock> blocks) {
  std::ranges::sort(blocks, {}, [](const LiveBlock& live) {
    return std::tuple(live.block.device, live.block.row, live.block.subarray);
  });
  Map map(geometry);
  for (const auto& live : blocks) map.paint(live);
  return map.take();
}

}  // namespace terrace::pim
