// Computes a histogram on a PIM device: compares all elements with an edge at once and counts. Run by tests.
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

// counts[i] is the number of elements in [edges[i], edges[i + 1]). Costs one comparison and one count for every
// edge; the host takes the differences, so an element of 64 ones is in no bin. Throws Error{invalid} for fewer
// than two edges and for edges that do not ascend.
Histogram histogram(Array& array, const Vector& values, std::span<const std::uint64_t> edges,
                    const Blocks& blocks);

}  // namespace terrace::pim
