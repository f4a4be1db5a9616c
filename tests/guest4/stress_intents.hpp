// Allocation by intent in one process of the stress test: blocks, at once and at touch, and mappings of its own. At random
// they are touched, applied to another intent in part, and released. Data that no budget had space for are
// released at once: otherwise the kernel would place them anywhere.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "agent/heap/ordered_heap.hpp"
#include "stress_account.hpp"

namespace terrace::tests {

class StressIntents {
 public:
  // Lives as long as its process, as the heap's threads do.
  StressIntents(const machine::Machine& machine, memory::Ledger& ledger, InitiatorId initiator);

  void step(StressReport& report, std::mt19937_64& random);
  // Adds what is where.
  void count(StressReport& report, std::mt19937_64& random);
  void free_all();

 private:
  struct Range {
    unsigned char* data = nullptr;
    bool mapped = false;                 // else it is a block of the heap
    bool zeros = true;                   // where it was not written
    std::vector<std::uint32_t> written;  // by page: the number that it begins with
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data); }
    [[nodiscard]] std::size_t size() const { return written.size() * k_page; }
  };

  void allocate(StressReport& report, std::mt19937_64& random);
  void map(StressReport& report, std::mt19937_64& random);
  void apply(std::size_t index, StressReport& report, std::mt19937_64& random);
  void keep_or_release(Range range, int error, StressReport& report);
  // Returns false, and releases the range, if a touched page has no free space.
  bool touch(std::size_t index, std::size_t first, std::size_t pages, StressReport& report,
             std::mt19937_64& random);
  [[nodiscard]] bool is_held(std::uint64_t address, std::size_t size) const;
  void release(std::size_t index);
  void give_back(const Range& range);

  const machine::Machine& machine_;
  agent::OrderedHeap& heap_;
  std::vector<int> intents_;
  std::vector<Range> ranges_;
  std::uint64_t begin_ = ~std::uint64_t{0};  // of all blocks that there ever were
  std::uint64_t end_ = 0;
};

}  // namespace terrace::tests
