// Which pages are there and which are huge, by the kernel's own account (PAGEMAP_SCAN of /proc/self/pagemap, since
// Linux 6.7; see Documentation/admin-guide/mm/pagemap.rst). Nothing here throws or allocates once it is made.
#pragma once

#include <cstdint>

#include "core/rounding.hpp"

namespace terrace::memory {

class PageMap {
 public:
  PageMap() noexcept;
  ~PageMap();
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  // False where the kernel says that the page at the address is mapped as a small one, or absent; true where it is
  // part of a huge one, and where the kernel does not tell.
  [[nodiscard]] bool may_be_huge(std::uint64_t address) const noexcept;
  // The first page from `begin` on that has content, in memory or swapped out; `end` where none has.
  [[nodiscard]] std::uint64_t next_page(std::uint64_t begin, std::uint64_t end) const noexcept;
  [[nodiscard]] bool has_page(std::uint64_t address) const noexcept {
    return next_page(address, address + k_page) == address;
  }

 private:
  int file_;
};

}  // namespace terrace::memory
