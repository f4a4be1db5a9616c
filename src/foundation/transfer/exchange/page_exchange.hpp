// Brings the pages of a range to another node, beside the program that reads and writes them, and loses nothing:
// 2 MiB at a time.
//
// The pages leave the range for an empty slot (from then on who touches it waits), are copied to a slot that has
// pages of the node, and those take their place; the two slots change roles. The first move returns when every
// earlier write is in the pages that it took, and no later one can reach them; nobody but the mover knows the
// slots. Needs Linux 6.8 (UFFDIO_MOVE).
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

  // At most `threads` of them exchange at once; `keep` slots stay filled for the chunks to come. `copiers` threads
  // copy a piece, with the one that exchanges (crew.hpp). Throws Error{failed} when the system lacks what it
  // takes.
  PageExchange(SlotAccounting& accounting, std::size_t threads, std::size_t max_cached, std::size_t copiers = 1,
               void (*enter)() = nullptr);

  // Whole pages, private anonymous memory of the program. 0 when all of them are the node's now. Else the reason
  // why some are not: ENOENT (some were never touched), EBUSY, EINVAL (not memory that can go this way), ENOMEM
  // (the node is full). The range is whole and readable in any case; what was brought stays there.
  int migrate_range(std::uint64_t address, std::size_t size, int node) noexcept;

  // After each round of chunks, when their own room is on the account.
  void settle_accounting() noexcept { staging_.settle_accounting(); }
  // Gives back the node's pages that are kept for the chunks to come; false where there are none.
  bool trim(int node) noexcept { return staging_.trim(node); }

  // Chosen when the first piece is copied, or when somebody asks: most processes never move anything.
  [[nodiscard]] const CopyKernel& kernel() noexcept;
  [[nodiscard]] std::size_t copiers() const noexcept { return copy_threads_.threads(); }
  // As it copies what it exchanges.
  void copy(void* to, const void* from, std::size_t size) noexcept { copy_threads_.copy(kernel(), to, from, size); }

 private:
  int migrate_segment(std::uint64_t address, std::size_t size, int node, std::size_t& done) noexcept;
  int migrate_piece(std::uint64_t address, std::size_t size, int node) noexcept;
  int exchange_pages(std::uint64_t address, std::size_t size, Staging::Slot& old_pages, Staging::Slot& new_pages) noexcept;
  const CopyKernel& choose_kernel() noexcept;

  Userfault faults_;
  Staging staging_;
  std::atomic<bool> choosing_{false};
  std::atomic<const CopyKernel*> kernel_{nullptr};
  CopyThreadPool copy_threads_;
};

}  // namespace terrace::transfer
