// SPDX-License-Identifier: Apache-2.0
// Declares the interface of the communication layer by which a stencil program runs on several processes.
// terrace/stencil/mpi.hpp implements it by MPI.
//
// The program is unchanged, and its results are bitwise equal to those of one process. Each process (rank)
// computes a part of each block, cut in z, in y, or in both. Ranks exchange halos once before a chain, and
// compute points near their borders redundantly instead of exchanging again. A chain that needs more layers
// than Options::depth runs in pieces.
//
// All functions are collective: all ranks call loops, Dataset::get() (which returns the values of all ranks),
// Dataset::set() (of which each rank keeps its part) and Reduction::value() with the same arguments. If one
// rank ends with an error the others wait for it: end the program on all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

// A message to or from another rank.
struct Message {
  std::size_t rank = 0;
  std::vector<std::byte> bytes;
};

// Communicator of the processes that run a program together. Only the context's thread calls it.
class TERRACE_STENCIL_PUBLIC Ranks {
 public:
  virtual ~Ranks() = default;
  [[nodiscard]] virtual std::size_t rank() const = 0;  // this process's rank, from 0
  [[nodiscard]] virtual std::size_t size() const = 0;
  // Sends and receives, at most one message to and one from each rank. Received messages have the length that
  // was sent. Ranks that are not listed do not take part.
  virtual void exchange(std::span<const Message> sent, std::span<Message> received) = 0;
  // Gathers to all ranks: `all` receives the data of each rank, in rank order. `sizes` are their lengths in
  // bytes. Collective.
  virtual void gather(std::span<const std::byte> own, std::span<const std::size_t> sizes,
                      std::span<std::byte> all) = 0;
};

// Creates the context of one rank. Options are per rank: `memory` is what each may use, and `threads` how many
// each has; state it if several ranks share a machine.
TERRACE_STENCIL_PUBLIC [[nodiscard]] Context distributed(std::unique_ptr<Ranks> ranks,
                                                         const Options& options = Options::from_environment());

}  // namespace terrace::stencil
