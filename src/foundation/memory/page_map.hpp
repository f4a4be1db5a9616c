// SPDX-License-Identifier: Apache-2.0
// Queries which pages are present and which are huge, by PAGEMAP_SCAN of /proc/self/pagemap (Linux 6.7; see
// Documentation/admin-guide/mm/pagemap.rst). Used with userfaultfd (transfer/exchange/userfault.hpp). Never
// throws; allocates nothing after construction.
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

  // Returns false if the page at the address is known to be absent or small; true if it is part of a huge page, or
  // if the kernel does not tell.
  [[nodiscard]] bool may_be_huge(std::uint64_t address) const noexcept;
  // Returns the first page in [begin, end) that has content, resident or swapped out; `end` if none has.
  [[nodiscard]] std::uint64_t next_page(std::uint64_t begin, std::uint64_t end) const noexcept;
  [[nodiscard]] bool has_page(std::uint64_t address) const noexcept {
    return next_page(address, address + k_page) == address;
  }

 private:
  int fd_;
};

}  // namespace terrace::memory
