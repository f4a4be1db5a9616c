// SPDX-License-Identifier: Apache-2.0
// Implements Ranks by MPI, for stencil programs on several processes. Header-only, so that it is compiled with the
// program's own MPI; see terrace/stencil/ranks.hpp.
//
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
//   {
//     auto context = terrace::stencil::distributed(MPI_COMM_WORLD);
//     ...
//   }
//   MPI_Finalize();
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "terrace/stencil/ranks.hpp"

namespace terrace::stencil {
namespace detail {

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(MPI_Comm communicator) {
    MPI_Comm_dup(communicator, &communicator_);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
  }
  ~MpiRanks() override {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over == 0) MPI_Comm_free(&communicator_);
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(size_); }

  void exchange(std::span<const Message> sent, std::span<Message> received) override {
    std::vector<MPI_Request> requests;
    for (auto& message : received)
      for_parts(message.bytes.size(), [&](std::size_t at, int count) {
        MPI_Irecv(&message.bytes[at], count, MPI_BYTE, static_cast<int>(message.rank), k_tag, communicator_,
                  &requests.emplace_back());
      });
    for (const auto& message : sent)
      for_parts(message.bytes.size(), [&](std::size_t at, int count) {
        MPI_Isend(&message.bytes[at], count, MPI_BYTE, static_cast<int>(message.rank), k_tag, communicator_,
                  &requests.emplace_back());
      });
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  void gather(std::span<const std::byte> own, std::span<const std::size_t> sizes,
              std::span<std::byte> all) override {
    if (all.size() <= k_max) {
      std::vector<int> counts, places;
      for (int at = 0; const auto size : sizes) {
        counts.push_back(static_cast<int>(size));
        places.push_back(at);
        at += counts.back();
      }
      MPI_Allgatherv(own.data(), counts[rank()], MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE,
                     communicator_);
      return;
    }
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < size(); at += sizes[rank++]) {
      if (rank == this->rank()) std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(at));
      for_parts(sizes[rank], [&](std::size_t within, int count) {
        MPI_Bcast(&all[at + within], count, MPI_BYTE, static_cast<int>(rank), communicator_);
      });
    }
  }

 private:
  static constexpr int k_tag = 0;
  // maximum message size in bytes: MPI counts by int
  static constexpr std::size_t k_max = std::size_t{1} << 30U;

  // Calls action(offset, size) for each part.
  template <class Action>
  static void for_parts(std::size_t size, Action action) {
    for (std::size_t at = 0; at < size; at += k_max) action(at, static_cast<int>(std::min(size - at, k_max)));
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace detail

// Creates the context of one process of the communicator. It duplicates the communicator and calls MPI from the
// calling thread only. MPI must stay initialised until the context has ended. Throws std::logic_error if MPI is
// not initialised.
[[nodiscard]] inline Context distributed(MPI_Comm communicator,
                                         const Options& options = Options::from_environment()) {
  int is_there = 0;
  MPI_Initialized(&is_there);
  if (is_there == 0)
    throw std::logic_error("distributed() is called before MPI_Init_thread(): initialise MPI first");
  return distributed(std::make_unique<detail::MpiRanks>(communicator), options);
}

}  // namespace terrace::stencil
