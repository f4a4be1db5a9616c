// How many elements lie between given numbers, by comparing all of them at once and counting.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/pim/program.hpp"

namespace terrace::pim {

struct Histogram {
  std::vector<std::uint64_t> counts;  // one fewer than edges
  Report report;
};

// counts[i]: elements of at least edges[i] and below edges[i + 1]. One comparison and one count for every edge,
// the host taking the differences; so an element of 64 ones is in no bin. Throws Error{invalid} for fewer than two
// edges and where they do not ascend.
Histogram histogram(Array& array, const Vector& values, std::span<const std::uint64_t> edges,
                    const Blocks& blocks);

}  // namespace terrace::pim
