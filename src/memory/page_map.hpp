// Which pages are huge, by the kernel's own account (PAGEMAP_SCAN of /proc/self/pagemap, since Linux 6.7; see
// Documentation/admin-guide/mm/pagemap.rst). Nothing here throws or allocates once it is made.
#pragma once

#include <cstdint>

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

 private:
  int file_;
};

}  // namespace terrace::memory
