// Declares CP-ALS: a tensor as a sum of rank-one tensors, lambda_r a_r o b_r o c_r, by alternating least squares:
// each factor in turn is the best one beside the two others. Source: Kolda and Bader, "Tensor decompositions and
// applications", SIAM Review 51, 2009, section 3.4 and figure 3.3.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tensor/elements.hpp"

namespace tensor {

constexpr std::uint64_t k_max_rank = 64;

/// The two other modes, in turn.
constexpr int after(int mode) { return (mode + 1) % 3; }
constexpr int before(int mode) { return (mode + 2) % 3; }

/// The tensor compressed along one mode: slice i has the elements with numbers [start[i], start[i+1]), in the
/// order drawn, with their rows along the mode after and the mode before.
struct Slices {
  Slices(const Planted& planted, int mode);

  std::vector<std::uint64_t> start;
  std::vector<std::uint32_t> row_after;
  std::vector<std::uint32_t> row_before;
  std::vector<double> value;
};

/// The factors, their columns of length 1, and what steps towards better ones need.
class Model {
 public:
  /// Begins at the planted factors with as much noise added.
  Model(const Planted& planted, std::uint64_t seed);

  /// The product of the tensor along `mode` with the two other factors (the matricised tensor times their
  /// Khatri-Rao product).
  void mttkrp(int mode, const Slices& slices);

  /// The factor of `mode` by least squares, from the product; its columns' lengths are the weights.
  void solve(int mode);

  /// 1 - || tensor - model || / || tensor ||, once mode 2 was the last; `squares` is the tensor's norm, squared.
  double fit(double squares);

  std::uint64_t rank() const { return rank_; }
  const Factor& factor(int mode) const { return factor_[mode]; }
  const std::vector<double>& weight() const { return weight_; }

 private:
  using Square = std::vector<double>;  // rank x rank

  Square hadamard(int mode) const;
  void normalise(int mode);

  std::array<std::uint64_t, 3> sides_;
  std::uint64_t rank_;
  std::array<Factor, 3> factor_;
  std::array<Square, 3> gram_;  // of each factor's columns
  std::vector<double> weight_;  // lambda
  Factor product_;
  std::vector<double> sums_;  // of blocks of rows
};

}  // namespace tensor
