// Draws the elements of tensor's input. No place is drawn twice, by construction: communities share no member
// along the first side, and of the second side they have the lower half, the background the upper.
#include "tensor/elements.hpp"

#include <cmath>

#include "common/random.hpp"

namespace tensor {
namespace {

/// Numbers drawn one after the other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  double fraction() { return workloads::fraction(workloads::random_at(seed_, drawn_++)); }
  /// Below `end`, of which the first have more than the others: the density is that of 1 / sqrt(x).
  std::uint64_t skewed(std::uint64_t end) {
    const double x = fraction();
    return static_cast<std::uint64_t>(x * x * static_cast<double>(end));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

std::array<std::uint64_t, 3> sides_of(std::uint64_t scale) {
  return {std::uint64_t{1} << (scale - 4), std::uint64_t{1} << (scale - 5), std::uint64_t{1} << (scale - 6)};
}

/// A community's members along each side, so that all communities have half of 2^scale elements.
std::uint64_t members_of(std::uint64_t scale, std::uint64_t rank) {
  const std::uint64_t elements = (std::uint64_t{1} << scale) / (2 * rank);
  std::uint64_t members = 1;
  while ((members + 1) * (members + 1) * (members + 1) <= elements) ++members;
  return members;
}

/// The first member of a community along `mode`. Along the second and the third side the next one begins halfway.
std::uint64_t first_of(std::uint64_t community, int mode, std::uint64_t members) {
  return mode == 0 ? community * members : community * members / 2;
}

/// Renames a row, so that those with many elements do not lie side by side; one to one, as sides are powers of
/// two.
std::uint64_t renamed(std::uint64_t row, std::uint64_t side) { return (row * 0x9e3779b97f4a7c15) & (side - 1); }

Element element_at(const Planted& planted, const std::array<std::uint64_t, 3>& rows, double value) {
  Element element{{}, value};
  for (int mode = 0; mode < 3; ++mode) {
    element.at[mode] = static_cast<std::uint32_t>(renamed(rows[mode], planted.sides[mode]));
  }
  return element;
}

void add_community(Planted& planted, std::uint64_t community, std::uint64_t members, Draws& draws) {
  std::array<std::vector<double>, 3> weights;
  for (int mode = 0; mode < 3; ++mode) {
    for (std::uint64_t i = 0; i < members; ++i) {
      weights[mode].push_back(0.5 + draws.fraction());
      const std::uint64_t row = renamed(first_of(community, mode, members) + i, planted.sides[mode]);
      planted.factors[mode][row * planted.rank + community] = weights[mode].back();
    }
  }
  for (std::uint64_t i = 0; i < members; ++i) {
    for (std::uint64_t j = 0; j < members; ++j) {
      for (std::uint64_t k = 0; k < members; ++k) {
        const std::array<std::uint64_t, 3> rows{first_of(community, 0, members) + i,
                                                first_of(community, 1, members) + j,
                                                first_of(community, 2, members) + k};
        planted.elements.push_back(element_at(planted, rows, weights[0][i] * weights[1][j] * weights[2][k]));
      }
    }
  }
}

void add_background(Planted& planted, std::uint64_t elements, Draws& draws) {
  const std::uint64_t half = planted.sides[1] / 2;
  std::vector<std::uint64_t> drawn(planted.sides[0]);  // in each slice
  double squares = 0.0;
  for (std::uint64_t e = 0; e < elements; ++e) {
    const std::uint64_t i = draws.skewed(planted.sides[0]);
    const std::uint64_t k = draws.skewed(planted.sides[2]);
    const double value = 0.5 * draws.fraction() - 0.25;
    if (drawn[i] == half) continue;
    // Steps of an odd number come round after `half` of them only.
    const std::uint64_t j = half + ((workloads::mix(i) + drawn[i]++ * 0x9e3779b97f4a7c15) & (half - 1));
    planted.elements.push_back(element_at(planted, {i, j, k}, value));
    squares += value * value;
  }
  planted.noise = std::sqrt(squares);
}

}  // namespace

Planted make_planted(std::uint64_t scale, std::uint64_t rank, std::uint64_t seed) {
  Planted planted;
  planted.sides = sides_of(scale);
  planted.rank = rank;
  planted.elements.reserve(std::uint64_t{1} << scale);
  for (int mode = 0; mode < 3; ++mode) planted.factors[mode].resize(planted.sides[mode] * rank);

  Draws draws(workloads::mix(seed));
  const std::uint64_t members = members_of(scale, rank);
  for (std::uint64_t community = 0; community < rank; ++community) {
    add_community(planted, community, members, draws);
  }
  add_background(planted, (std::uint64_t{1} << scale) - planted.elements.size(), draws);
  return planted;
}

bool fits(std::uint64_t scale, std::uint64_t rank) {
  const std::array<std::uint64_t, 3> sides = sides_of(scale);
  const std::uint64_t members = members_of(scale, rank);
  const auto end = [&](int mode) { return first_of(rank - 1, mode, members) + members; };
  return end(0) <= sides[0] && end(1) <= sides[1] / 2 && end(2) <= sides[2];
}

}  // namespace tensor
