// Declares the steps of NPB FT between its transforms, on the whole cube or on a rank's part of it (mpi/ft).
// Source: Bailey et al., RNR-94-007 (1994), section 2.3.4.
#pragma once

#include <cstdint>
#include <vector>

#include "ft/fft.hpp"

namespace ft {

/// The indices [begin, end) of a part of the cube along one dimension.
struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

/// Computes the factors by which waves decay in an iteration, at the points with these second indices.
void fill_twiddle(const Shape& shape, const Range& lines, std::vector<double>& twiddle);

/// Draws the initial state of a part of the cube that begins at point `first` in the order of storage.
void fill_random(std::uint64_t first, Field& field);

/// Computes u1 = u0 = u0 decayed once more.
void evolve(const std::vector<double>& twiddle, Field& u0, Field& u1);

/// Returns the sum over those of the checksum's 1024 points that have these third indices. u2 has these planes
/// alone; the inverse transform left it without its factor.
Complex checksum(const Shape& shape, const Range& planes, const Field& u2);

}  // namespace ft
