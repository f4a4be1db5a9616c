// Provides memory whose pages a test touches one by one, for page watches.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "observe/page_watch.hpp"

namespace terrace::observe {

inline constexpr std::size_t k_pages = 512;

// Small pages in a mapping that is not merged with others, all written once.
class Memory {
 public:
  explicit Memory(std::size_t pages = k_pages) : whole_((pages + 2) * page_bytes) {
    map_ = static_cast<char*>(mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(map_, whole_, MADV_NOHUGEPAGE);
    mprotect(map_ + page_bytes, pages * page_bytes, PROT_READ | PROT_WRITE);
    for (std::size_t i = 0; i < pages; ++i) *at(i) = 1;
  }
  ~Memory() { munmap(map_, whole_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] volatile char* at(std::size_t page) const { return map_ + (1 + page) * page_bytes; }
  [[nodiscard]] WatchedRange range(std::size_t first, std::size_t pages) const {
    const auto low = reinterpret_cast<std::uint64_t>(at(first));
    return {low, low + pages * page_bytes};
  }
  [[nodiscard]] WatchedRange range() const { return range(0, whole_ / page_bytes - 2); }

  const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

 private:
  std::size_t whole_;
  char* map_;
};

}  // namespace terrace::observe
