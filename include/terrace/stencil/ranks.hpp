// SPDX-License-Identifier: Apache-2.0
// Stencil programs on several processes: what carries messages between them. terrace/stencil/mpi.hpp does it by
// MPI.
//
// The program is that for one process, and its results are the same to the last bit. Each process, a rank,
// computes a part of each block: of z, of y, or of both. Before a chain ranks exchange what it needs, once, and
// compute points near their borders more than once instead of exchanging again. A chain that needs more layers
// than the narrowest part has is run in pieces.
//
// All ranks do all calls with the same arguments: loops, Dataset::get(), which gives the numbers of all ranks,
// Dataset::set(), of which each rank keeps its part, Reduction::value(). What an error ends on one rank the others
// wait for: end the program on all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

// To another rank, or from it.
struct Message {
  std::size_t rank = 0;
  std::vector<std::byte> bytes;
};

// The processes that run a program together. The context's thread alone calls it.
class TERRACE_STENCIL_PUBLIC Ranks {
 public:
  virtual ~Ranks() = default;
  [[nodiscard]] virtual std::size_t rank() const = 0;  // this one's number, from 0
  [[nodiscard]] virtual std::size_t size() const = 0;
  // Sends and receives, at most one message to a rank and one from it; those that are received have the length
  // that was sent. Ranks that are not named take no part.
  virtual void exchange(std::span<const Message> sent, std::span<Message> received) = 0;
  // All ranks call it: `all` becomes what each gave, by rank. `sizes` are the lengths in bytes, by rank.
  virtual void gather(std::span<const std::byte> own, std::span<const std::size_t> sizes,
                      std::span<std::byte> all) = 0;
};

// The context of one of the ranks. Options are those of one rank: `memory` is what each may take, and `threads`
// how many each has, which is best said where several ranks are on a machine.
TERRACE_STENCIL_PUBLIC [[nodiscard]] Context distributed(std::unique_ptr<Ranks> ranks,
                                                         const Options& options = Options::from_environment());

}  // namespace terrace::stencil
