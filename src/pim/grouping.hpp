// SPDX-License-Identifier: Apache-2.0
// Searches placements for groups of blocks that must lie together. Called by Allocator::allocate_group().
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pim/allocator.hpp"

namespace terrace::pim {

// Returns spots for all requests with the first subarray `subarray`, stacked in the order that ends lowest;
// nothing if there are none. Exact: each block of an order goes to the lowest row above the previous one, and
// dynamic programming over subsets covers all orders. `bank` is the width of a bank in subarrays.
std::optional<std::vector<FreeBitmap::Spot>> group_at(const FreeBitmap& bitmap, std::uint32_t subarray,
                                                      std::span<const Request> requests, std::uint32_t bank);

// Returns spots inside the range by backtracking: larger blocks first, each at all spots in first-fit order.
// Returns nothing after 100,000 partial placements. The bitmap is unchanged afterwards.
std::optional<std::vector<FreeBitmap::Spot>> group_inside(FreeBitmap& bitmap, const FreeBitmap::Range& range,
                                                          std::span<const Request> requests, std::uint32_t bank);

}  // namespace terrace::pim
