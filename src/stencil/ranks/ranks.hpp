// The processes that run a program together, each a part of every block. Who carries the messages is not known
// here: MPI does (src/stencil/mpi), or a test's threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace terrace::stencil {

// To another rank, or from it.
struct Message {
  std::size_t rank = 0;
  std::vector<std::byte> bytes;
};

class Ranks {
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

}  // namespace terrace::stencil
