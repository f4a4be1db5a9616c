// SPDX-License-Identifier: Apache-2.0
// Declares the test rig of `terrace machine measure` and of benchmarks for copiers: a copier with real memory to
// migrate, and a thread that computes concurrently and measures its slowdown.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/measure/placed_buffer.hpp"
#include "memory/ledger.hpp"
#include "transfer/copier.hpp"

namespace terrace::transfer {

// Returns a machine with two places on these nodes, which may be the same node.
machine::Machine two_places(int from_node, int to_node);

class CopierRig {
 public:
  // Allocates `memory` on the first node, and as much on the second for plain copies. Throws Error where a node
  // has too little.
  CopierRig(const CopierVariant& variant, int from_node, int to_node, machine::Pages pages, Bytes memory);

  // Returns null where the system does not permit the copier.
  [[nodiscard]] Copier* copier() const { return copier_.get(); }
  [[nodiscard]] std::optional<double> share_huge() const { return buffer_.share_huge(); }
  // Migrates all memory to the other place in chunks of this size. Returns the seconds of each. Throws
  // Error{failed} where the system refuses one.
  std::vector<double> sweep(Bytes size);
  // Copies all memory in pieces of this size. Returns the seconds of each.
  std::vector<double> copies(Bytes size);

 private:
  machine::Machine machine_;
  std::unique_ptr<memory::LedgerPage> page_;
  memory::Ledger ledger_;
  memory::ChunkTable chunks_;
  machine::PlacedBuffer buffer_;
  machine::PlacedBuffer other_;
  std::unique_ptr<Copier> copier_;
  PlaceId current_place_ = 0;
};

// Background computation that measures the time it loses to interference. run() is called by one thread, the other
// functions by another.
class BackgroundLoad {
 public:
  // Computes on the calling thread, in memory that the second-level cache holds, until stop().
  void run();
  void stop() { stop_ = true; }
  // Waits until the undisturbed time of a pass is measured.
  void await_calibration() const;
  // Returns the total seconds by which passes exceeded their undisturbed time. Pauses longer than an interrupt
  // (other programs) do not count.
  [[nodiscard]] double lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void pass();

  std::vector<std::uint64_t> data_ = std::vector<std::uint64_t>(k_num_words);
  std::atomic<bool> stop_{false};
  std::atomic<bool> ready_{false};
  std::atomic<double> lost_{0};
  static constexpr std::size_t k_num_words = (256UL << 10) / sizeof(std::uint64_t);
};

double seconds_now();

}  // namespace terrace::transfer
