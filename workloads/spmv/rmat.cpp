// Draws the matrix.
#include "spmv/rmat.hpp"

#include <numeric>
#include <utility>

#include "common/random.hpp"

namespace spmv {
namespace {

/// The numbers below 2^scale in random order.
std::vector<std::uint32_t> make_names(std::uint64_t scale, std::uint64_t seed) {
  std::vector<std::uint32_t> names(std::uint64_t{1} << scale);
  std::iota(names.begin(), names.end(), std::uint32_t{0});
  for (std::uint64_t i = names.size(); i > 1; --i) {
    std::swap(names[i - 1], names[workloads::below(workloads::random_at(seed, i), i)]);
  }
  return names;
}

}  // namespace

std::vector<Element> make_elements(std::uint64_t scale, std::uint64_t per_row, std::uint64_t seed) {
  // Of the quadrants: upper left, upper right, lower left; the lower right has the rest.
  constexpr double k_a = 0.57;
  constexpr double k_b = 0.19;
  constexpr double k_c = 0.19;
  const std::vector<std::uint32_t> names = make_names(scale, workloads::mix(seed));
  std::vector<Element> elements(per_row << scale);
  std::uint64_t drawn = 0;
  for (Element& element : elements) {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    for (std::uint64_t level = 0; level < scale; ++level) {
      const double where = workloads::fraction(workloads::random_at(seed, drawn++));
      const bool lower = where >= k_a + k_b;
      const bool right = lower ? where >= k_a + k_b + k_c : where >= k_a;
      row = 2 * row + (lower ? 1 : 0);
      column = 2 * column + (right ? 1 : 0);
    }
    element = {names[row], names[column], 0.5 + 0.5 * workloads::fraction(workloads::random_at(seed, drawn++))};
  }
  return elements;
}

}  // namespace spmv
