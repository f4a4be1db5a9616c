// SPDX-License-Identifier: Apache-2.0
// Searches placements for several blocks at once: by dynamic programming in one subarray, by backtracking in a
// bank or device. Called by Allocator::allocate_group().
#include "pim/grouping.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace terrace::pim {
namespace {

constexpr std::uint32_t k_no_end = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t k_max_tries = 100'000;

bool may_begin_at(const Request& request, std::uint32_t subarray, std::uint32_t bank) {
  return subarray % request.subarray_alignment == 0 &&
         (request.within == Within::device || subarray % bank + request.shape.subarrays <= bank);
}

// Orders the requests by decreasing area; equal shapes are adjacent.
std::vector<std::size_t> largest_first(std::span<const Request> requests) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const auto& shape = requests[i].shape;
      return std::tuple(std::uint64_t{shape.rows} * shape.subarrays, shape.rows, requests.size() - i);
    };
    return key(a) > key(b);
  });
  return order;
}

// Backtracking search: places the blocks in order, each at all spots of first-fit order.
class GroupSearch {
 public:
  GroupSearch(FreeBitmap& bitmap, const FreeBitmap::Range& range, std::span<const Request> requests,
              std::uint32_t bank)
      : bitmap_(bitmap), range_(range), requests_(requests), bank_(bank), spots_(requests.size()) {}

  bool place(std::span<const std::size_t> order) {
    if (order.empty()) return true;
    const auto& request = requests_[order[0]];
    const auto& shape = request.shape;
    FreeBitmap::Spot from{0, range_.first};
    while (tries_ < k_max_tries) {
      const auto spot =
          bitmap_.first_fit(range_, shape, {request.row_alignment, request.subarray_alignment}, from);
      if (!spot) return false;
      if (may_begin_at(request, spot->subarray, bank_)) {
        ++tries_;
        bitmap_.take(*spot, shape);
        const bool placed = place(order.subspan(1));
        bitmap_.release(*spot, shape);
        if (placed) {
          spots_[order[0]] = *spot;
          return true;
        }
      }
      from = {spot->row, spot->subarray + 1};
    }
    return false;
  }
  [[nodiscard]] const std::vector<FreeBitmap::Spot>& spots() const { return spots_; }

 private:
  FreeBitmap& bitmap_;
  FreeBitmap::Range range_;
  std::span<const Request> requests_;
  std::uint32_t bank_;
  std::vector<FreeBitmap::Spot> spots_;
  std::uint32_t tries_ = 0;
};

}  // namespace

std::optional<std::vector<FreeBitmap::Spot>> group_at(const FreeBitmap& bitmap, std::uint32_t subarray,
                                                      std::span<const Request> requests, std::uint32_t bank) {
  for (const auto& request : requests)
    if (!may_begin_at(request, subarray, bank) || subarray + request.shape.subarrays > bitmap.subarrays())
      return std::nullopt;
  struct Lowest {
    std::uint32_t end = k_no_end;
    std::uint32_t row = 0;  // row of the last block
    std::size_t last = 0;
  };
  std::array<Lowest, std::size_t{1} << k_max_group> lowest;  // by subset
  const std::size_t all = (std::size_t{1} << requests.size()) - 1;
  lowest[0].end = 0;
  for (std::size_t subset = 0; subset < all; ++subset) {
    if (lowest[subset].end == k_no_end) continue;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto bit = std::size_t{1} << i;
      if ((subset & bit) != 0) continue;
      const auto& request = requests[i];
      const auto row = bitmap.lowest_row(subarray, request.shape, lowest[subset].end, request.row_alignment);
      if (row && *row + request.shape.rows < lowest[subset | bit].end)
        lowest[subset | bit] = {*row + request.shape.rows, *row, i};
    }
  }
  if (lowest[all].end == k_no_end) return std::nullopt;
  std::vector<FreeBitmap::Spot> spots(requests.size());
  for (auto subset = all; subset != 0; subset &= ~(std::size_t{1} << lowest[subset].last))
    spots[lowest[subset].last] = {lowest[subset].row, subarray};
  return spots;
}

std::optional<std::vector<FreeBitmap::Spot>> group_inside(FreeBitmap& bitmap, const FreeBitmap::Range& range,
                                                          std::span<const Request> requests, std::uint32_t bank) {
  GroupSearch search(bitmap, range, requests, bank);
  const auto order = largest_first(requests);
  if (!search.place(order)) return std::nullopt;
  return search.spots();
}

}  // namespace terrace::pim
