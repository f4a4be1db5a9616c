// SPDX-License-Identifier: Apache-2.0
// Declares the interface of the engines that keep out-of-core data. The agent's heap uses it
// under `terrace run --memory`.
//
// Two implementations: Spill (spill.hpp) moves 2 MiB chunks between memory and the file in a user-space pager;
// PagedSpill (paged_spill.hpp) maps the file and leaves paging to the kernel.
//
// Requires: memory is private and anonymous, a multiple of the chunk size; calls name whole chunks.
// Thread-safe. Where a comment says so, a call resets the protection of its range to the default (read and write).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/units.hpp"
#include "transfer/spill/replacement_policy.hpp"
#include "transfer/spill/spill_counts.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

class SpillEngine {
 public:
  static constexpr std::size_t k_chunk = std::size_t{2} << 20;
  static constexpr std::uint64_t k_no_limit = std::uint64_t{1} << 62;  // ns; longer than any run
  static constexpr std::size_t k_at_once = 256;  // max chunks that a forked child has resident from the start

  struct Parts {
    std::uint64_t base = 0;  // of the managed memory
    std::uint64_t size = 0;
    Bytes memory{};  // limit for the whole process
    std::string folder;
    SpillCounts* counts = nullptr;
    std::unique_ptr<ReplacementPolicy> (*make_policy)() = nullptr;
    void (*enter)() = nullptr;  // called first on the engine's threads: marks them as Terrace's own
    void (*say)(const char* sentence) = nullptr;  // prints a message to the user
    bool ring = true;                             // use io_uring where available
    bool paged = false;                           // kernel paging: make PagedSpill
    // Limits handing a block over to kernel paging, in nanoseconds: how long it may take, and after what time the
    // block first comes back to be tried again. A test that must not depend on the disk's speed sets both to
    // k_no_limit.
    std::uint64_t handover_limit_ns = spill_limits::k_max_handover_ns;
    std::uint64_t first_period_ns = spill_limits::k_min_period_ns;
  };

  explicit SpillEngine(const Parts& parts) : parts_(parts) {}
  virtual ~SpillEngine() = default;
  SpillEngine(const SpillEngine&) = delete;
  SpillEngine& operator=(const SpillEngine&) = delete;

  // Registers a range as a new block, before the allocator returns it.
  virtual void reserve(std::uint64_t address, std::size_t size) noexcept = 0;
  // Discards the range's content; later accesses read zeros. The caller frees the pages that remain in it.
  virtual void release(std::uint64_t address, std::size_t size) noexcept = 0;
  // Zeroes the range, which stays in use. Requires: unmanage() was not called for any part of it. May reset its
  // protection.
  virtual void discard(std::uint64_t address, std::size_t size) noexcept = 0;
  // Stops managing the range, because the program maps memory of its own over a part of it: loads its chunks to
  // their addresses, where they stay until release(). May reset its protection.
  virtual void unmanage(std::uint64_t address, std::size_t size) noexcept = 0;
  // Announces that the program is going to change the protection of a part of the range; or, with `is_default`,
  // that the whole range has its default protection again.
  virtual void change_protection(std::uint64_t address, std::size_t size, bool is_default) noexcept = 0;

  // Sets a plan's retention preference of the range, until it is released.
  virtual void prefer(std::uint64_t address, std::size_t size, Preference preference) noexcept = 0;

  // Called around fork(2) by the forking thread. The child gets a snapshot of the content. Chunks that contain the
  // addresses `at_once` are resident in the child from its first instruction; other addresses are ignored. May
  // reset protections in parent and child.
  virtual void before_fork(std::span<const std::uint64_t> at_once) noexcept = 0;
  virtual void after_fork() noexcept = 0;
  virtual void in_child() noexcept = 0;

 protected:
  static constexpr const char* k_full = "the backing file has no space for all data: the rest stays in memory";
  // Prints a message with folder and reason to the user, unless `said` is set; sets it.
  void say_once(bool& said, const char* sentence, int error) noexcept;

  Parts parts_;
};

// Makes the engine that `parts` selects. Throws Error{failed} where the system lacks a required feature.
std::unique_ptr<SpillEngine> make_spill(const SpillEngine::Parts& parts);

}  // namespace terrace::transfer
