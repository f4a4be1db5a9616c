// Generates a sparse tensor of order three, the sum of a few rank-one tensors and of noise, as of members,
// activities and places: `rank` communities, in each of which every member does everything everywhere, and a
// background.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tensor {

/// A matrix with `rank` columns, row by row.
using Factor = std::vector<double>;

struct Element {
  std::array<std::uint32_t, 3> at;
  double value;
};

struct Planted {
  std::array<std::uint64_t, 3> sides;
  std::uint64_t rank = 0;
  std::vector<Element> elements;  // no place twice
  std::array<Factor, 3> factors;  // of the communities' tensors
  double noise = 0.0;             // the background's norm, and so the distance of these from the tensor
};

/// 2^scale elements at most, `rank` communities with half of them in a tensor with sides of 2^(scale - 4),
/// 2^(scale - 5) and 2^(scale - 6). Communities share members along the second and the third side. The background
/// has more in some slices than in others, as a power law has it. Values of a community's elements are products of
/// three numbers in [0.5, 1.5), of the background's in [-0.25, 0.25).
Planted make_planted(std::uint64_t scale, std::uint64_t rank, std::uint64_t seed);

/// Whether so many communities fit the sides.
bool fits(std::uint64_t scale, std::uint64_t rank);

}  // namespace tensor
