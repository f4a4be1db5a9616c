// SPDX-License-Identifier: Apache-2.0
// Where several blocks fit together.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pim/allocator.hpp"

namespace terrace::pim {

// Spots for all of the requests with `subarray` as the first of each, one above the other in the order that ends
// lowest; nothing where there are none. Exact: an order's blocks each go to the lowest row above the one before,
// and all orders count, by what is the lowest end of each subset. `bank` is the width of one, in subarrays.
std::optional<std::vector<FreeBitmap::Spot>> group_at(const FreeBitmap& bitmap, std::uint32_t subarray,
                                                      std::span<const Request> requests, std::uint32_t bank);

// Spots inside the range, found by trying the larger ones first, each at all spots in the order of first fit;
// nothing after 100,000 partial placements. The board is as before afterwards.
std::optional<std::vector<FreeBitmap::Spot>> group_inside(FreeBitmap& bitmap, const FreeBitmap::Range& range,
                                                          std::span<const Request> requests, std::uint32_t bank);

}  // namespace terrace::pim
