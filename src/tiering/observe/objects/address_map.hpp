// From an address of this process to its canonical address and its chunk, and back.
//
// Canonical addresses do not depend on where the system put things: they are handed out in the order in which the
// program made its memory, object after object, so that a run under address randomisation meets the same cache
// sets as any other. Caches and streams see canonical addresses only.
//
// Changes are serialised by a lock; look-ups take none and may run beside a change, also in other threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "memory/chunk_table.hpp"

namespace terrace::observe {

struct Location {
  std::uint64_t delta = 0;          // canonical address = host address + delta (modulo 2^64)
  std::uint64_t low = 0, high = 0;  // range (of host or canonical addresses, as asked) that it holds for
  ChunkId chunk = memory::k_no_chunk;
  std::uint64_t origin = 0;  // where the chunk begins, in the same address space as `low`
  std::uint64_t reuse_delta =
      0;  // canonical address less that of the memory that it stands for (runtime/recurring.hpp)
};

class AddressMap {
 public:
  AddressMap();
  ~AddressMap();
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  // [low, low + size) is a piece of memory of its own: it gets fresh canonical addresses, with the host's offset
  // modulo 4096. `room` bytes (at least `size`) of canonical addresses are kept for it to grow into. Replaces what
  // overlapped. Returns its canonical base.
  std::uint64_t add_range(std::uint64_t low, std::uint64_t size, std::uint64_t room = 0);
  // A stack [low, high) whose addresses count from `reference` (the frame of main, or of the thread's start), so
  // that neither randomisation nor the size of the environment shows below it. It has room to grow by a tebibyte.
  // Returns the canonical address of `reference`, a multiple of 4096.
  std::uint64_t add_stack(std::uint64_t low, std::uint64_t reference, std::uint64_t high);
  // [low, low + size) is at `canonical`, within room that was given before. False, and nothing is changed, where
  // other memory is there.
  bool add_at(std::uint64_t low, std::uint64_t size, std::uint64_t canonical);
  // [low, low + size) continues the piece of memory that holds `anchor`, within the room that it was given. False
  // when nothing is known at `anchor`.
  bool extend(std::uint64_t anchor, std::uint64_t low, std::uint64_t size);
  // Forgets a range (munmap, free). Its canonical addresses are not reused.
  void remove_range(std::uint64_t low, std::uint64_t size);
  // The chunk that covers [low, low + size); part of a range that was added. What was not added stays unknown.
  void set_chunk(std::uint64_t low, std::uint64_t size, ChunkId chunk, std::uint64_t reuse_delta = 0);

  // Never allocates. False when nothing was added there. `generation` is the one that the answer belongs to.
  [[nodiscard]] bool find(std::uint64_t address, Location& location) const;
  [[nodiscard]] bool find(std::uint64_t address, Location& location, std::uint32_t& generation) const;
  // The other way round: false for canonical addresses whose memory is gone.
  [[nodiscard]] bool find_canonical(std::uint64_t canonical, Location& location, std::uint32_t& generation) const;
  // Grows at every change: translations that were cached before are stale. Odd while a change is under way.
  [[nodiscard]] const std::atomic<std::uint32_t>& generation() const;
  // Each change sets `epoch` to 0 when it begins, whichever thread makes it, so that one that remembers answers
  // need not compare generations (cache/first_cache.hpp). Non-owning: until `unwatch`.
  void watch(std::atomic<std::uint64_t>& epoch) const;
  void unwatch(std::atomic<std::uint64_t>& epoch) const;

  // Around fork, so that the child never inherits a change that is half done.
  void before_fork();
  void after_fork();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::observe
