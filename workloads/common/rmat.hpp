// Draws random places in a matrix with power-law rows and columns (an R-MAT graph), for graph and spmv.
// Source: Chakrabarti, Zhan and Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004, with Graph500's
// parameters (0.57, 0.19, 0.19, 0.05); as there, the rows and columns are renamed at random, so that the long ones
// do not lie side by side.
#pragma once

#include <cstdint>
#include <vector>

namespace workloads {

/// Draws one place after the other.
class Rmat {
 public:
  struct Place {
    std::uint32_t row;
    std::uint32_t column;
  };

  /// Generates places of a matrix of order 2^scale.
  Rmat(std::uint64_t scale, std::uint64_t seed);

  Place next();
  /// Returns the sequence's next number, in [0, 1), for further properties of a place.
  double fraction();

 private:
  std::uint64_t scale_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::vector<std::uint32_t> names_;
};

}  // namespace workloads
