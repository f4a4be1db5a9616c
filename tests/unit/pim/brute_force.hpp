// Reference allocator by brute force: one byte for each row of each subarray; a search tries every location.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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

  // Calls visit(block) for every candidate of the request in first-fit order until it returns true: inside each
  // bank in turn, then across banks; there by rows, then by subarrays. `beside` is the block that the request
  // names.
  template <typename Visit>
  void visit(const Request& request, const std::optional<Block>& beside, Visit visit) const {
    const bool alone = beside && request.share == Within::subarray;  // a single search over all locations
    for (const bool across : {false, true}) {
      if (alone && !across) continue;
      const auto width = across ? geometry_.width() : geometry_.subarrays;
      for (std::uint32_t device = 0; device < geometry_.devices; ++device)
        for (std::uint32_t first = 0; first < geometry_.width(); first += width)
          for (std::uint32_t row = 0; row + request.shape.rows <= geometry_.rows; ++row)
            for (auto subarray = first; subarray + request.shape.subarrays <= first + width; ++subarray) {
              const Block block{device, subarray, row, request.shape};
              if (across && !alone && !crosses(block)) continue;
              if (may_be(request, beside, block) && is_free(block) && visit(block)) return;
            }
    }
  }
  [[nodiscard]] std::vector<Block> candidates(const Request& request, const std::optional<Block>& beside) const {
    std::vector<Block> blocks;
    visit(request, beside, [&](const Block& block) {
      blocks.push_back(block);
      return false;
    });
    return blocks;
  }
  [[nodiscard]] bool crosses(const Block& block) const {
    return block.subarray % geometry_.subarrays + block.shape.subarrays > geometry_.subarrays;
  }

  [[nodiscard]] bool may_be(const Request& request, const std::optional<Block>& beside, const Block& block) const {
    if (block.row % request.row_alignment != 0 || block.subarray % request.subarray_alignment != 0) return false;
    if (crosses(block) && request.within != Within::device) return false;
    if (!beside) return true;
    if (beside->device != block.device) return false;
    if (request.share == Within::device) return true;
    if (request.share == Within::subarray) return beside->subarray == block.subarray;
    return !crosses(block) && beside->subarray / geometry_.subarrays == block.subarray / geometry_.subarrays;
  }

  // Returns the excess length of the free run that holds the block.
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
  Geometry geometry_;
  std::vector<bool> taken_;
};

}  // namespace terrace::pim
