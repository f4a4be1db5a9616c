// SPDX-License-Identifier: Apache-2.0
// Implements direct stiffness summation between ranks. See gather_scatter.hpp.
#include "mpi/eddy/gather_scatter.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace eddy {
namespace {

std::int64_t first_element(std::int64_t all, int rank, int num_ranks) {
  return workloads::first_of_part(all, rank, num_ranks);
}

}  // namespace

GatherScatter::GatherScatter(const workloads::Ranks& ranks, std::int64_t side, int points)
    : Part(ranks, first_element(side * side, ranks.mpi().rank(), ranks.mpi().size()),
           first_element(side * side, ranks.mpi().rank() + 1, ranks.mpi().size()) -
               first_element(side * side, ranks.mpi().rank(), ranks.mpi().size())),
      rank_(ranks.mpi().rank()),
      num_ranks_(ranks.mpi().size()),
      all_elements_(side * side) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> own;  // copies of each point here, by its number
  std::uint32_t copy = 0;
  for (std::int64_t element = first(); element < first() + count(); ++element) {
    for (int k = 0; k < points * points; ++k) own[point_number(side, points, element, k)].push_back(copy++);
  }
  std::map<std::uint32_t, std::uint32_t> places;  // in shared_, by number
  for (int rank = 0; rank < num_ranks_; ++rank) {
    if (rank == rank_) continue;
    std::vector<std::uint32_t> common;
    const std::int64_t end = first_element(all_elements_, rank + 1, num_ranks_);
    for (std::int64_t element = first_element(all_elements_, rank, num_ranks_); element < end; ++element) {
      for (int k = 0; k < points * points; ++k) {
        const std::uint32_t number = point_number(side, points, element, k);
        if (own.contains(number)) common.push_back(number);
      }
    }
    if (common.empty()) continue;
    // Both ranks have the same order.
    std::sort(common.begin(), common.end());
    common.erase(std::unique(common.begin(), common.end()), common.end());
    Partner partner{rank, {}, std::vector<double>(common.size()), std::vector<double>(common.size())};
    for (const std::uint32_t number : common) {
      const auto [place, is_new] = places.try_emplace(number, static_cast<std::uint32_t>(shared_.size()));
      if (is_new) shared_.push_back(own[number]);
      partner.shared.push_back(place->second);
    }
    partners_.push_back(std::move(partner));
  }
  sums_.resize(shared_.size());
  requests_.resize(2 * partners_.size());
}

void GatherScatter::add_copies(Field& field) const {
  MPI_Request* request = requests_.data();
  for (const Partner& partner : partners_) {
    MPI_Irecv(partner.received.data(), static_cast<int>(partner.received.size()), MPI_DOUBLE, partner.rank, 0,
              MPI_COMM_WORLD, request++);
  }
  for (const Partner& partner : partners_) {
    for (std::size_t i = 0; i < partner.shared.size(); ++i) {
      partner.sent[i] = field[shared_[partner.shared[i]].front()];
    }
    MPI_Isend(partner.sent.data(), static_cast<int>(partner.sent.size()), MPI_DOUBLE, partner.rank, 0,
              MPI_COMM_WORLD, request++);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);

  // All ranks add in the order of ranks, so that copies of a point stay equal to the last bit.
  std::fill(sums_.begin(), sums_.end(), 0.0);
  const auto add_received = [&](const Partner& partner) {
    for (std::size_t i = 0; i < partner.shared.size(); ++i) sums_[partner.shared[i]] += partner.received[i];
  };
  auto partner = partners_.begin();
  for (; partner != partners_.end() && partner->rank < rank_; ++partner) add_received(*partner);
  for (std::size_t i = 0; i < shared_.size(); ++i) sums_[i] += field[shared_[i].front()];
  for (; partner != partners_.end(); ++partner) add_received(*partner);
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    for (const std::uint32_t copy : shared_[i]) field[copy] = sums_[i];
  }
}

void GatherScatter::gather(Field& by_element, int width) const {
  std::vector<int> counts;
  std::vector<int> begins;
  for (int rank = 0; rank < num_ranks_; ++rank) {
    const std::int64_t begin = first_element(all_elements_, rank, num_ranks_);
    begins.push_back(static_cast<int>(width * begin));
    counts.push_back(static_cast<int>(width * (first_element(all_elements_, rank + 1, num_ranks_) - begin)));
  }
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, by_element.data(), counts.data(), begins.data(), MPI_DOUBLE,
                 MPI_COMM_WORLD);
}

}  // namespace eddy
