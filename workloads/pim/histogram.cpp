// Implements a histogram on a PIM device by comparisons with the edges. See histogram.hpp.
#include "workloads/pim/histogram.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace terrace::pim {

Histogram histogram(Array& array, const Vector& values, std::span<const std::uint64_t> edges,
                    const Blocks& blocks) {
  if (edges.size() < 2 || !std::ranges::is_sorted(edges))
    throw Error(Code::invalid, "a histogram between " + std::to_string(edges.size()) +
                                   " edges; it takes two at least, in ascending order");
  Run run(array, blocks);
  run.uses(values);
  Alu alu(array, run.scratch(values));
  const auto below = run.mask(values);
  Histogram result;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    alu.compare_lt(below, values, edges[i]);
    const auto here = count(array, below);
    if (i > 0) result.counts.push_back(here - before);
    before = here;
  }
  result.report = run.report();
  return result;
}

}  // namespace terrace::pim
