// SPDX-License-Identifier: Apache-2.0
// Merges adjacent items with similar traffic, to reduce the size of a problem. Used by make_problem().
#pragma once

#include "model/problem.hpp"

namespace terrace::model {

// Sorts cells by item and sums those of the same item.
void sum_cells_of_an_item(std::vector<ItemCell>& cells);

// Merges adjacent items of one object, domain, place and pin, in order of increasing difference of traffic per
// byte, until at most `max_items` remain. A merged item is at most four times the mean size, so that it is not too
// coarse for the budget; with more objects than `max_items` each object keeps an item.
void merge_neighbours(Problem& problem, std::size_t max_items);

}  // namespace terrace::model
