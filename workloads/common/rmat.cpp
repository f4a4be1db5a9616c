// Draws the edges of an R-MAT graph, for the workloads graph and spmv. See rmat.hpp.
#include "common/rmat.hpp"

#include <numeric>
#include <utility>

#include "common/random.hpp"

namespace workloads {
namespace {

/// The numbers below 2^scale in random order.
std::vector<std::uint32_t> make_names(std::uint64_t scale, std::uint64_t seed) {
  std::vector<std::uint32_t> names(std::uint64_t{1} << scale);
  std::iota(names.begin(), names.end(), std::uint32_t{0});
  for (std::uint64_t i = names.size(); i > 1; --i) {
    std::swap(names[i - 1], names[below(random_at(seed, i), i)]);
  }
  return names;
}

}  // namespace

Rmat::Rmat(std::uint64_t scale, std::uint64_t seed)
    : scale_(scale), seed_(seed), names_(make_names(scale, mix(seed))) {}

double Rmat::fraction() { return workloads::fraction(random_at(seed_, drawn_++)); }

Rmat::Place Rmat::next() {
  // Probabilities of the quadrants: upper left, upper right, lower left; the lower right has the rest.
  constexpr double k_a = 0.57;
  constexpr double k_b = 0.19;
  constexpr double k_c = 0.19;
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  for (std::uint64_t level = 0; level < scale_; ++level) {
    const double where = fraction();
    const bool lower = where >= k_a + k_b;
    const bool right = lower ? where >= k_a + k_b + k_c : where >= k_a;
    row = 2 * row + (lower ? 1 : 0);
    column = 2 * column + (right ? 1 : 0);
  }
  return {names_[row], names_[column]};
}

}  // namespace workloads
