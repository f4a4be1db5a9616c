// The same promises, kept in the plainest way: every row of every subarray is a byte, and a search looks at every
// place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "pim/allocator.hpp"

namespace terrace::pim {

class BruteForce {
 public:
  explicit BruteForce(const Geometry& geometry) : geometry_(geometry), taken_(geometry.units()) {}

  [[nodiscard]] bool is_free(const Block& block) const {
    for (std::uint32_t row = block.row; row < block.row + block.shape.rows; ++row)
      for (std::uint32_t i = 0; i < block.shape.subarrays; ++i)
        if (taken_[unit(block.device, row, block.subarray + i)]) return false;
    return true;
  }
  void mark(const Block& block, bool taken) {
    for (std::uint32_t row = block.row; row < block.row + block.shape.rows; ++row)
      for (std::uint32_t i = 0; i < block.shape.subarrays; ++i)
        taken_[unit(block.device, row, block.subarray + i)] = taken;
  }
  [[nodiscard]] std::uint64_t free_units() const { return std::ranges::count(taken_, false); }

  // Everything that the request may lie at, in the order of first fit: inside the banks one after the other, then
  // across them; there by rows, then by subarrays. `beside` is the block that it names.
  [[nodiscard]] std::vector<Block> candidates(const Request& request, const std::optional<Block>& beside) const {
    std::vector<std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t>> order;
    const auto& shape = request.shape;
    for (std::uint32_t device = 0; device < geometry_.devices; ++device)
      for (std::uint32_t row = 0; row + shape.rows <= geometry_.rows; ++row)
        for (std::uint32_t subarray = 0; subarray + shape.subarrays <= geometry_.width(); ++subarray) {
          const Block block{device, subarray, row, shape};
          if (!is_free(block) || row % request.row_alignment != 0 || subarray % request.subarray_alignment != 0)
            continue;
          const auto bank = subarray / geometry_.subarrays;
          const bool crosses = (subarray + shape.subarrays - 1) / geometry_.subarrays != bank;
          if (crosses && request.within != Within::device) continue;
          if (beside && !shares(request.share, *beside, block, crosses)) continue;
          const bool alone = beside && request.share == Within::subarray;  // one search, wherever it lies
          const auto major = device * geometry_.banks + (crosses || alone ? 0 : bank);
          order.emplace_back(crosses && !alone, major, row, subarray);
        }
    std::ranges::sort(order);
    std::vector<Block> blocks;
    for (const auto& [crosses, major, row, subarray] : order)
      blocks.push_back({major / geometry_.banks, subarray, row, shape});
    return blocks;
  }

  // What the free run that holds the block is longer by.
  [[nodiscard]] std::uint32_t slack(const Block& block, Dim dim, std::uint32_t first, std::uint32_t end) const {
    std::uint32_t more = 0;
    if (dim == Dim::vertical) {
      const auto free = [&](std::uint32_t row) {
        return is_free({block.device, block.subarray, row, {1, block.shape.subarrays}});
      };
      for (auto row = block.row; row > 0 && free(row - 1); --row) ++more;
      for (auto row = block.row + block.shape.rows; row < geometry_.rows && free(row); ++row) ++more;
    } else {
      const auto free = [&](std::uint32_t subarray) {
        return is_free({block.device, subarray, block.row, {block.shape.rows, 1}});
      };
      for (auto subarray = block.subarray; subarray > first && free(subarray - 1); --subarray) ++more;
      for (auto subarray = block.subarray + block.shape.subarrays; subarray < end && free(subarray); ++subarray)
        ++more;
    }
    return more;
  }

 private:
  [[nodiscard]] std::size_t unit(std::uint32_t device, std::uint32_t row, std::uint32_t subarray) const {
    return (std::size_t{device} * geometry_.rows + row) * geometry_.width() + subarray;
  }
  [[nodiscard]] bool shares(Within share, const Block& a, const Block& b, bool crosses) const {
    if (a.device != b.device) return false;
    if (share == Within::device) return true;
    if (share == Within::subarray) return a.subarray == b.subarray;
    return !crosses && a.subarray / geometry_.subarrays == b.subarray / geometry_.subarrays;
  }

  Geometry geometry_;
  std::vector<bool> taken_;
};

}  // namespace terrace::pim
