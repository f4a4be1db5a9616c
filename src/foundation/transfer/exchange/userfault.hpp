// Pages as the kernel's userfaultfd(2) moves them between two ranges of one process: without a copy, and so that
// no access is lost. Who touches what is absent meanwhile waits in the kernel until it is woken.
//
// Each call returns 0 or an errno value; nothing here throws or allocates once it is made. Sources:
// userfaultfd(2), ioctl_userfaultfd(2); UFFDIO_MOVE in Documentation/admin-guide/mm/userfaultfd.rst of Linux 6.8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/userfault_file.hpp"
#include "memory/page_map.hpp"

namespace terrace::transfer {

class Userfault {
 public:
  // With less than the right to wait for faults inside system calls there is none: they would fail instead. Nor is
  // there where the kernel lacks one of the features (UFFD_FEATURE_...).
  explicit Userfault(std::uint64_t features = k_userfault_move) noexcept;
  ~Userfault();
  Userfault(const Userfault&) = delete;
  Userfault& operator=(const Userfault&) = delete;

  [[nodiscard]] bool is_available() const noexcept { return fd_ >= 0; }
  // Returns 0, or the errno value with which the kernel refused.
  [[nodiscard]] int error() const noexcept { return fd_ < 0 ? -fd_ : 0; }
  [[nodiscard]] const memory::PageMap& page_map() const noexcept { return page_map_; }

  // From now on who touches an absent page of the range waits; until it is forgotten, which wakes all.
  int register_range(std::uint64_t address, std::size_t size) noexcept;
  int unregister_range(std::uint64_t address, std::size_t size) noexcept;
  void wake(std::uint64_t address, std::size_t size) noexcept;
  // To wait on by poll(2) until somebody touched what is absent; next_touch() then says where. False: nobody did.
  [[nodiscard]] int fd() const noexcept { return fd_; }
  // With k_userfault_thread `thread` is told who.
  bool next_fault(std::uint64_t& address, std::uint32_t* thread = nullptr) noexcept;
  // With k_userfault_remap who moves a watched range by mremap(2) goes on when that was read: how many were.
  [[nodiscard]] std::uint64_t num_remaps() const noexcept { return num_remaps_; }
  // Whether the file is still there: a program may close what it does not know. `page` is any page's address.
  [[nodiscard]] bool is_open(std::uint64_t page) const noexcept;

  // The pages of `from` become those of `to`, a range that is watched and empty. Every write that was done before
  // it returns is in them, and none comes later. `moved` bytes went, from the front, also where the answer is an
  // error: ENOENT (a page is absent), EBUSY (shared with a child, or held by a device), EINVAL (the ranges are not
  // of one kind). Wakes nobody.
  int move(std::uint64_t to, std::uint64_t from, std::size_t size, std::size_t& moved) noexcept;
  // New pages for an empty, watched range, as its policy says, with what is at `source`. Wakes who waits.
  int copy(std::uint64_t to, std::uint64_t source, std::size_t size) noexcept;
  // The watched range gets its content back, from where move() brought it: `known` bytes of it went, as the kernel
  // counts, and what is at `from` beyond them comes back, too. Wakes nobody.
  void restore(std::uint64_t address, std::uint64_t from, std::size_t size, std::size_t counted) noexcept;
  // A watched range becomes zeros that are read, and who waits goes on.
  void fill_with_zeros(std::uint64_t address, std::size_t size) noexcept;
  // Who touches the watched range gets SIGBUS from now on (Linux 6.6).
  void poison(std::uint64_t address, std::size_t size) noexcept;
  // The same by copying, page by page, whatever it takes: a copy needs new pages, and waits while there are none.
  // Any other refusal says that the page is there, or that the program has unmapped the range.
  // False where it says something else.
  bool force_copy(std::uint64_t address, std::uint64_t from, std::size_t size) noexcept;

 private:
  [[nodiscard]] bool has_moved(std::uint64_t to, std::uint64_t from) const noexcept;

  memory::PageMap page_map_;
  int fd_;
  std::uint64_t num_remaps_ = 0;
};

}  // namespace terrace::transfer
