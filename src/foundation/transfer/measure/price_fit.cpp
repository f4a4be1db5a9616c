// SPDX-License-Identifier: Apache-2.0
// Solves the least-squares problem by which `terrace machine measure` derives a copier's price. See price_fit.hpp.
#include "transfer/measure/price_fit.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace terrace::transfer {

namespace {

constexpr std::size_t k_unknowns = 3;
using Row = std::array<double, k_unknowns>;

Row counts_of(const PricedMove& move) { return {move.pieces, move.small, move.huge}; }

// Solves the normal equations for the unknowns in the bit set `chosen`, by Gaussian elimination; the others are 0.
// Empty where the system is singular.
std::optional<Row> solve(const std::array<Row, k_unknowns>& products, const Row& right, unsigned chosen) {
  std::array<std::array<double, k_unknowns + 1>, k_unknowns> table{};
  for (std::size_t i = 0; i < k_unknowns; ++i) {
    const bool in = (chosen >> i & 1U) != 0;
    for (std::size_t j = 0; j < k_unknowns; ++j)
      table[i][j] = in && (chosen >> j & 1U) != 0 ? products[i][j] : i == j ? 1 + products[i][i] : 0;
    table[i][k_unknowns] = in ? right[i] : 0;
  }
  for (std::size_t i = 0; i < k_unknowns; ++i) {
    std::size_t pivot = i;
    for (std::size_t k = i + 1; k < k_unknowns; ++k)
      if (std::abs(table[k][i]) > std::abs(table[pivot][i])) pivot = k;
    std::swap(table[i], table[pivot]);
    if (std::abs(table[i][i]) < 1e-12 * products[i][i] || table[i][i] == 0) return {};
    for (std::size_t k = 0; k < k_unknowns; ++k) {
      if (k == i) continue;
      const double times = table[k][i] / table[i][i];
      for (std::size_t j = i; j <= k_unknowns; ++j) table[k][j] -= times * table[i][j];
    }
  }
  Row solution{};
  for (std::size_t i = 0; i < k_unknowns; ++i) solution[i] = table[i][k_unknowns] / table[i][i];
  return solution;
}

}  // namespace

// Enumerates the eight sets of positive unknowns and returns the best feasible solution.
FittedPrice fit_price(std::span<const PricedMove> moves) {
  std::array<Row, k_unknowns> products{};
  Row right{};
  for (const auto& move : moves) {
    const auto counts = counts_of(move);
    const double weight = 1 / (move.whole * move.whole);
    for (std::size_t i = 0; i < k_unknowns; ++i) {
      for (std::size_t j = 0; j < k_unknowns; ++j) products[i][j] += weight * counts[i] * counts[j];
      right[i] += weight * counts[i] * move.seconds;
    }
  }
  Row best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned chosen = 0; chosen < 1U << k_unknowns; ++chosen) {
    const auto solution = solve(products, right, chosen);
    if (!solution || (*solution)[0] < 0 || (*solution)[1] < 0 || (*solution)[2] < 0) continue;
    double error = 0;
    for (const auto& move : moves) {
      const auto counts = counts_of(move);
      double off = -move.seconds;
      for (std::size_t i = 0; i < k_unknowns; ++i) off += (*solution)[i] * counts[i];
      error += off * off / (move.whole * move.whole);
    }
    if (error >= least) continue;
    least = error;
    best = *solution;
  }
  return {best[0], best[1], best[2]};
}

}  // namespace terrace::transfer
