// SPDX-License-Identifier: Apache-2.0
// Implements the decomposition, exchange and prolongation of NPB MG on ranks. A face is exchanged by Irecv, Send
// and Wait in both directions.
#include "mpi/mg/domain.hpp"

#include <algorithm>
#include <utility>

#include "mg/operators.hpp"
#include "mpi/common/environment.hpp"

namespace mg {
namespace {

/// Calls visit(point) for the points of a layer: those at `index` along `dimension`, and along the others the
/// interior, or the ghosts too where these are up to date because the dimension was exchanged before.
template <typename Visit>
void for_layer(const Box& box, int dimension, int index, Visit visit) {
  Extents begin;
  Extents end;
  for (int d = 0; d < 3; ++d) {
    const int ghosts = d > dimension ? 0 : 1;  // dimensions are exchanged from the last to the first
    begin[d] = d == dimension ? index : ghosts;
    end[d] = d == dimension ? index + 1 : box.n[d] - ghosts;
  }
  Extents i;
  for (i[0] = begin[0]; i[0] < end[0]; ++i[0])
    for (i[1] = begin[1]; i[1] < end[1]; ++i[1])
      for (i[2] = begin[2]; i[2] < end[2]; ++i[2]) visit(box.at(i));
}

}  // namespace

Domain::Domain(int ranks) {
  MPI_Dims_create(ranks, 3, size_.data());
  const int periods[3] = {1, 1, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 3, size_.data(), periods, 0, &ranks_);
  int rank = 0;
  MPI_Comm_rank(ranks_, &rank);
  MPI_Cart_coords(ranks_, rank, 3, own_.data());
}

Extents Domain::first(int level) const {
  Extents first;
  for (int d = 0; d < 3; ++d) first[d] = workloads::first_of_part(1 << level, own_[d], size_[d]);
  return first;
}

Extents Domain::extents(int level) const {
  Extents n;
  for (int d = 0; d < 3; ++d)
    n[d] = workloads::first_of_part(1 << level, own_[d] + 1, size_[d]) -
           workloads::first_of_part(1 << level, own_[d], size_[d]) + 2;
  return n;
}

void Domain::exchange(int level, const Box& box) {
  for (int dimension = 2; dimension >= 0; --dimension) {
    if (size_[dimension] > 1) {
      exchange_along(dimension, level, box);
      continue;
    }
    const int last = box.n[dimension] - 1;
    for (const auto& [from, to] : {std::pair{last - 1, 0}, std::pair{1, last}}) {
      std::vector<double>& layer = buffers_[0];
      layer.clear();
      for_layer(box, dimension, from, [&](double point) { layer.push_back(point); });
      auto next = layer.cbegin();
      for_layer(box, dimension, to, [&](double& point) { point = *next++; });
    }
  }
}

void Domain::exchange_along(int dimension, int level, const Box& box) {
  const int last = box.n[dimension] - 1;
  const int own = own_[dimension];
  const int stride = std::max(1, size_[dimension] >> level);  // the distance of ranks that have points
  const int owners[2] = {own / stride * stride - 1, (own + 1) / stride * stride + stride - 1};  // of the ghosts
  auto& [low, high, sent_low, sent_high] = buffers_;
  for (std::vector<double>* buffer : {&sent_low, &sent_high}) buffer->clear();
  for_layer(box, dimension, 1, [&](double point) { sent_low.push_back(point); });
  for_layer(box, dimension, last - 1, [&](double point) { sent_high.push_back(point); });
  const auto size = static_cast<int>(sent_low.size());
  low.resize(sent_low.size());
  high.resize(sent_low.size());

  enum Tag { downwards, upwards };
  MPI_Request requests[2];
  MPI_Irecv(low.data(), size, MPI_DOUBLE, rank_along(dimension, owners[0]), upwards, ranks_, &requests[0]);
  MPI_Irecv(high.data(), size, MPI_DOUBLE, rank_along(dimension, owners[1]), downwards, ranks_, &requests[1]);
  const bool has_points = last > 1;
  for (int distance = 1; has_points && distance <= stride; ++distance) {
    MPI_Send(sent_high.data(), size, MPI_DOUBLE, rank_along(dimension, own + distance), upwards, ranks_);
    MPI_Send(sent_low.data(), size, MPI_DOUBLE, rank_along(dimension, own - distance), downwards, ranks_);
  }
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  auto next = low.cbegin();
  for_layer(box, dimension, 0, [&](double& point) { point = *next++; });
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  next = high.cbegin();
  for_layer(box, dimension, last, [&](double& point) { point = *next++; });
}

int Domain::rank_along(int dimension, int coordinate) const {
  Extents at = own_;
  at[dimension] = coordinate;  // MPI wraps it around, because the grid is periodic
  int rank = 0;
  MPI_Cart_rank(ranks_, at.data(), &rank);
  return rank;
}

void prolong(const Box& coarse, const Box& fine, const Extents& offset) {
  std::array<double, k_max_line> sums;
  for (int f3 = 0; f3 < fine.n3(); ++f3) {
    for (int f2 = 0; f2 < fine.n2(); ++f2) {
      // A fine point between coarse ones gets their mean: `next` is 1 there, and 0 where the points coincide.
      const int i3 = (f3 - offset[0]) / 2;
      const int i2 = (f2 - offset[1]) / 2;
      const int next3 = (f3 - offset[0]) % 2;
      const int next2 = (f2 - offset[1]) % 2;
      const double* const here = coarse.line(i3, i2);
      const double* const north = coarse.line(i3, i2 + next2);
      const double* const above = coarse.line(i3 + next3, i2);
      const double* const above_north = coarse.line(i3 + next3, i2 + next2);
      for (int i = 0; i < coarse.n1(); ++i) sums[i] = 0.25 * (here[i] + north[i] + above[i] + above_north[i]);
      double* const line = fine.line(f3, f2);
      for (int f = 0; f < fine.n1(); ++f) {
        const int i = (f - offset[2]) / 2;
        line[f] += 0.5 * (sums[i] + sums[i + (f - offset[2]) % 2]);
      }
    }
  }
}

}  // namespace mg
