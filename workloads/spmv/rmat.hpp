// A random matrix whose rows' and columns' lengths follow a power law, as an R-MAT graph's adjacency matrix.
#pragma once

#include <cstdint>
#include <vector>

namespace spmv {

/// One element; a place may be named more than once, and its elements then add up.
struct Element {
  std::uint32_t row;
  std::uint32_t column;
  double value;
};

/// `per_row` * 2^scale elements of a matrix of order 2^scale, in random order, with values in [0.5, 1).
/// Source: R-MAT, Chakrabarti, Zhan and Faloutsos, SDM 2004, with Graph500's parameters (0.57, 0.19, 0.19, 0.05);
/// as there, the rows and columns are renamed at random, so that the long ones do not lie side by side.
std::vector<Element> make_elements(std::uint64_t scale, std::uint64_t per_row, std::uint64_t seed);

}  // namespace spmv
