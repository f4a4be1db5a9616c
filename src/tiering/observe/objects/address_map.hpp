// SPDX-License-Identifier: Apache-2.0
// Maps host addresses of this process to canonical addresses and chunks, and back. The runtime changes it with the
// program's objects; each thread's pipeline looks up accesses.
//
// Canonical addresses are assigned in the order in which the program allocates its memory, object after object.
// They do not depend on the addresses that the system chose, so that runs with address randomisation use the same
// cache sets. Simulated caches and stream prefetchers use canonical addresses only.
//
// Thread-safe. Changes are serialised by a lock; look-ups are lock-free and may run concurrently with a change.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "memory/chunk_table.hpp"

namespace terrace::observe {

struct Location {
  std::uint64_t delta = 0;  // canonical address = host address + delta (modulo 2^64)
  std::uint64_t low = 0,
                high = 0;  // range for which it is valid, in the address space (host or canonical) of the look-up
  ChunkId chunk = memory::k_no_chunk;
  std::uint64_t origin = 0;  // begin of the chunk, in the address space of `low`
  // Canonical address less that of the freed memory which it reuses (same name and size).
  std::uint64_t reuse_delta = 0;
};

class AddressMap {
 public:
  AddressMap();
  ~AddressMap();
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  // Adds the range [low, low + size) with new canonical addresses, equal to the host's modulo 4096. Reserves
  // `room` bytes (at least `size`) of canonical addresses for growth. Replaces overlapping ranges. Returns the
  // canonical base.
  std::uint64_t add_range(std::uint64_t low, std::uint64_t size, std::uint64_t room = 0);
  // Adds a stack [low, high). Its canonical addresses are relative to `reference` (the frame of main, or of the
  // thread's start function), so that frames below do not depend on randomisation or the size of the environment.
  // Reserves a tebibyte for growth. Returns the canonical address of `reference`, a multiple of 4096.
  std::uint64_t add_stack(std::uint64_t low, std::uint64_t reference, std::uint64_t high);
  // Adds [low, low + size) at `canonical`, within the reserve of an earlier range. Returns false, without a
  // change, where other memory has these canonical addresses.
  bool add_at(std::uint64_t low, std::uint64_t size, std::uint64_t canonical);
  // Extends the range that contains `anchor` by [low, low + size), within its reserve. Returns false where there
  // is no range at `anchor`.
  bool extend(std::uint64_t anchor, std::uint64_t low, std::uint64_t size);
  // Removes a range (munmap, free). Its canonical addresses are not reused.
  void remove_range(std::uint64_t low, std::uint64_t size);
  // Sets the chunk of [low, low + size), where ranges were added. `reuse_delta`: as in Location.
  void set_chunk(std::uint64_t low, std::uint64_t size, ChunkId chunk, std::uint64_t reuse_delta = 0);

  // Looks up an address; does not allocate. Returns false where no range was added. `generation`: for which the
  // result is valid.
  [[nodiscard]] bool find(std::uint64_t address, Location& location) const;
  [[nodiscard]] bool find(std::uint64_t address, Location& location, std::uint32_t& generation) const;
  // Looks up a canonical address. Returns false where its memory was removed.
  [[nodiscard]] bool find_canonical(std::uint64_t canonical, Location& location, std::uint32_t& generation) const;
  // Increases at every change, which invalidates cached translations. Odd while a change is in progress.
  [[nodiscard]] const std::atomic<std::uint32_t>& generation() const;
  // Registers an epoch, which every change sets to 0 at its begin, in any thread, so that a cache of look-ups need
  // not compare generations (cache/first_cache.hpp). Non-owning, until `unwatch`.
  void watch(std::atomic<std::uint64_t>& epoch) const;
  void unwatch(std::atomic<std::uint64_t>& epoch) const;

  // Called before and after fork, so that the child does not inherit an incomplete change.
  void before_fork();
  void after_fork();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::observe
