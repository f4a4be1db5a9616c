// SPDX-License-Identifier: Apache-2.0
// Migrates the pages of a range to another NUMA node in pieces of 2 MiB, while the program reads and writes them;
// no write is lost. The copier numa_swap calls it.
//
// For each piece: UFFDIO_MOVE detaches the pages to an empty staging slot (accesses wait from then on), they are
// copied to a slot with pages of the target node, and a second UFFDIO_MOVE attaches those in their place. The two
// slots swap roles. Invariant: when the first move returns, every earlier write is in the detached pages and no
// later write reaches them; slots are private to the mover. Requires Linux 6.8. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transfer/exchange/copy_kernels.hpp"
#include "transfer/exchange/copy_thread_pool.hpp"
#include "transfer/exchange/staging.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

class PageExchange {
 public:
  static constexpr std::size_t k_piece = Staging::k_slot;

  // At most `threads` threads exchange concurrently; at most `max_cached` slots stay filled for later chunks.
  // `copiers` threads, the calling one included, copy a piece (copy_thread_pool.hpp). Throws Error{failed} where
  // the system lacks a required feature.
  PageExchange(SlotAccounting& accounting, std::size_t threads, std::size_t max_cached, std::size_t copiers = 1,
               void (*enter)() = nullptr);

  // Migrates whole pages of private anonymous memory. Returns 0 if all are on the node, else why some are not:
  // ENOENT (never touched), EBUSY, EINVAL (other kind of memory), ENOMEM (node full). The range is complete and
  // accessible in any case; pages that were migrated stay on the node.
  int migrate_range(std::uint64_t address, std::size_t size, int node) noexcept;

  // Charges or frees cached pages. Call it after each round of chunks, when the chunks themselves are charged.
  void settle_accounting() noexcept { staging_.settle_accounting(); }
  // Frees the node's cached pages. Returns false if there were none.
  bool trim(int node) noexcept { return staging_.trim(node); }

  // Returns the copy kernel; measures the candidates on first use, because most processes never migrate anything.
  [[nodiscard]] const CopyKernel& kernel() noexcept;
  [[nodiscard]] std::size_t copiers() const noexcept { return copy_threads_.threads(); }
  // Copies as an exchange does; for measurements.
  void copy(void* to, const void* from, std::size_t size) noexcept {
    copy_threads_.copy(kernel(), to, from, size);
  }

 private:
  int migrate_segment(std::uint64_t address, std::size_t size, int node, std::size_t& done) noexcept;
  int migrate_piece(std::uint64_t address, std::size_t size, int node) noexcept;
  int exchange_pages(std::uint64_t address, std::size_t size, Staging::Slot& old_pages,
                     Staging::Slot& new_pages) noexcept;
  const CopyKernel& choose_kernel() noexcept;

  Userfault faults_;
  Staging staging_;
  std::atomic<bool> choosing_{false};
  std::atomic<const CopyKernel*> kernel_{nullptr};
  CopyThreadPool copy_threads_;
};

}  // namespace terrace::transfer
