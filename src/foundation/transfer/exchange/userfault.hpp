// SPDX-License-Identifier: Apache-2.0
// Wraps userfaultfd(2): moves pages between two ranges of the process without a copy and without losing an access.
// A thread that faults on an absent page of a registered range waits in the kernel until it is woken. Used by page
// exchanges, sentinels, first-touch traps and the pager.
//
// The int functions return 0 or an errno value. Nothing throws, or allocates after construction. Thread-safe, but
// for next_fault(). Sources: userfaultfd(2), ioctl_userfaultfd(2); UFFDIO_MOVE in
// Documentation/admin-guide/mm/userfaultfd.rst of Linux 6.8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/userfault_file.hpp"
#include "memory/page_map.hpp"

namespace terrace::transfer {

class Userfault {
 public:
  // Opens a descriptor with the features (UFFD_FEATURE_...) that also traps faults inside system calls. Opens none
  // where the process lacks the right to that, because such system calls would fail.
  explicit Userfault(std::uint64_t features = k_userfault_move) noexcept;
  ~Userfault();
  Userfault(const Userfault&) = delete;
  Userfault& operator=(const Userfault&) = delete;

  [[nodiscard]] bool is_available() const noexcept { return fd_ >= 0; }
  // Returns 0, or the errno value with which the kernel refused.
  [[nodiscard]] int error() const noexcept { return fd_ < 0 ? -fd_ : 0; }
  [[nodiscard]] const memory::PageMap& page_map() const noexcept { return page_map_; }

  // Registers a range: threads that fault on an absent page wait, until it is unregistered, which wakes all of
  // them.
  int register_range(std::uint64_t address, std::size_t size) noexcept;
  int unregister_range(std::uint64_t address, std::size_t size) noexcept;
  void wake(std::uint64_t address, std::size_t size) noexcept;
  // Returns the descriptor, readable for poll(2) after a fault.
  [[nodiscard]] int fd() const noexcept { return fd_; }
  // Reads the address of one fault, and with k_userfault_thread its thread. Returns false if there is none.
  bool next_fault(std::uint64_t& address, std::uint32_t* thread = nullptr) noexcept;
  // Returns the number of remap events read. With k_userfault_remap, mremap(2) of a registered range returns only
  // after next_fault() has read its event.
  [[nodiscard]] std::uint64_t num_remaps() const noexcept { return num_remaps_; }
  // Returns whether the descriptor is still open: a program may close what it does not know. `page`: any page
  // address.
  [[nodiscard]] bool is_open(std::uint64_t page) const noexcept;

  // Moves the pages of `from` to `to`, a registered and empty range. All writes completed before the return are in
  // the pages, and no later write is. `moved`: bytes moved from the front, also after an error: ENOENT (a page is
  // absent), EBUSY (shared with a child, or pinned by a device), EINVAL (ranges of different kinds). Wakes no
  // thread.
  int move(std::uint64_t to, std::uint64_t from, std::size_t size, std::size_t& moved) noexcept;
  // Copies `source` to new pages in an empty registered range, allocated by its memory policy. Wakes waiters.
  int copy(std::uint64_t to, std::uint64_t source, std::size_t size) noexcept;
  // Undoes a move() from `address` to `from`. `counted`: bytes that the kernel reported as moved; pages beyond
  // them that are at `from` are moved back, too. Called where an exchange, an eviction or a sentinel failed
  // half-way. Wakes no thread.
  void restore(std::uint64_t address, std::uint64_t from, std::size_t size, std::size_t counted) noexcept;
  // Fills a registered range with zero pages, and wakes waiters.
  void fill_with_zeros(std::uint64_t address, std::size_t size) noexcept;
  // Makes accesses to absent pages of a registered range raise SIGBUS (Linux 6.6).
  void poison(std::uint64_t address, std::size_t size) noexcept;
  // Copies page by page, and waits while there is no memory for new pages. EEXIST means that the page is present.
  // Returns false after any other error, as when the program has unmapped the range.
  bool force_copy(std::uint64_t address, std::uint64_t from, std::size_t size) noexcept;

 private:
  [[nodiscard]] bool has_moved(std::uint64_t to, std::uint64_t from) const noexcept;

  memory::PageMap page_map_;
  int fd_;
  std::uint64_t num_remaps_ = 0;
};

}  // namespace terrace::transfer
