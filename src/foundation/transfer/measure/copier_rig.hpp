// A copier with real memory to move, and a thread that computes beside it: what measurements and benchmarks of
// moves are made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/measure/placed_buffer.hpp"
#include "memory/ledger.hpp"
#include "transfer/copier.hpp"

namespace terrace::transfer {

// Two places on these nodes, which may be one node.
machine::Machine two_places(int from_node, int to_node);

class CopierRig {
 public:
  // `memory` on the first node, and as much on the second for bare copies. Throws Error where there is none.
  CopierRig(const CopierVariant& variant, int from_node, int to_node, machine::Pages pages, Bytes memory);

  // Null where the system does not let it work.
  [[nodiscard]] Copier* copier() const { return copier_.get(); }
  [[nodiscard]] std::optional<double> share_huge() const { return buffer_.share_huge(); }
  // Brings all of the memory to the other place, chunk by chunk of this size; seconds of each. Throws
  // Error{failed} where the system refuses one.
  std::vector<double> sweep(Bytes size);
  // Copies all of the memory, in pieces of this size; seconds of each.
  std::vector<double> copies(Bytes size);

 private:
  machine::Machine machine_;
  std::unique_ptr<memory::LedgerPage> page_;
  memory::Ledger ledger_;
  memory::ChunkTable chunks_;
  machine::PlacedBuffer buffer_;
  machine::PlacedBuffer other_;
  std::unique_ptr<Copier> copier_;
  PlaceId at_ = 0;
};

// Computes until it is told to stop, and says how much it loses. Made by one thread, run by another.
class Beside {
 public:
  // Over memory that the second-level cache holds, on the calling thread.
  void run();
  void stop() { stop_ = true; }
  // Returns when it knows how long a pass usually takes.
  void await() const;
  // Seconds that its passes took longer than usual; those of pauses that other programs make are not among them.
  [[nodiscard]] double lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void pass();

  std::vector<std::uint64_t> numbers_ = std::vector<std::uint64_t>(k_numbers);
  std::atomic<bool> stop_{false};
  std::atomic<bool> ready_{false};
  std::atomic<double> lost_{0};
  static constexpr std::size_t k_numbers = (256UL << 10) / sizeof(std::uint64_t);
};

double seconds_now();

}  // namespace terrace::transfer
