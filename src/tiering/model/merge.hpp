// Fewer items: neighbouring chunks that the profile tells least apart become one.
#pragma once

#include "model/problem.hpp"

namespace terrace::model {

// Sorts cells by item and adds up those of the same item.
void sum_cells_of_an_item(std::vector<ItemCell>& cells);

// Merges neighbours of one object, domain, place and pin until at most `max_items` are left, those whose traffic
// by byte differs least first. No merged item grows past four times the mean share of an item, so that none
// becomes too coarse for the budget; a program with more objects than `max_items` keeps an item for each.
void merge_neighbours(Problem& problem, std::size_t max_items);

}  // namespace terrace::model
