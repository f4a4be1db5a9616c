// See extent_pages.hpp.
#include "memory/arenas/extent_pages.hpp"

#include <algorithm>
#include <new>

#include "core/rounding.hpp"

namespace terrace::memory {

namespace {

constexpr std::uint64_t k_pages = BlockArena::k_extent / k_page;

// The part of [page, page + pages) that is in the extent of its first page.
std::uint64_t in_extent(std::uint64_t page, std::uint64_t pages) {
  return std::min(pages, (page / k_pages + 1) * k_pages - page);
}

}  // namespace

bool ExtentPages::add_extent() {
  void* const got = source_.obtain(BlockArena::k_extent);
  if (!got) return false;
  const auto page = reinterpret_cast<std::uint64_t>(got) / k_page;
  try {
    used_.emplace(page / k_pages, 0);
    free_.give(page, k_pages);
    return true;
  } catch (const std::bad_alloc&) {
    used_.erase(page / k_pages);
    source_.give_back(got, BlockArena::k_extent);
    return false;
  }
}

void ExtentPages::use(std::uint64_t page, std::uint64_t pages) {
  for (std::uint64_t some = 0; pages > 0; page += some, pages -= some) {
    some = in_extent(page, pages);
    used_.find(page / k_pages)->second += some;
  }
}

void* ExtentPages::take(std::uint64_t size, std::uint64_t alignment) noexcept {
  const auto pages = size / k_page;
  const auto boundary = std::max<std::uint64_t>(alignment / k_page, 1);
  if (pages > k_pages || boundary > k_pages) return nullptr;
  const std::lock_guard guard(mutex_);
  try {
    auto found = free_.take(pages, boundary);
    if (!found && add_extent()) found = free_.take(pages, boundary);
    if (!found) return nullptr;
    use(*found, pages);
    return reinterpret_cast<void*>(*found * k_page);  // NOLINT(performance-no-int-to-ptr)
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void ExtentPages::give(void* address, std::uint64_t size) noexcept {
  auto page = reinterpret_cast<std::uint64_t>(address) / k_page;
  auto pages = size / k_page;
  const std::lock_guard guard(mutex_);
  for (std::uint64_t some = 0; pages > 0; page += some, pages -= some) {
    some = in_extent(page, pages);
    const auto extent = used_.find(page / k_pages);
    try {
      free_.give(page, some);
      extent->second -= some;
      if (extent->second > 0 || !free_.take_at(extent->first * k_pages, k_pages)) continue;
    } catch (const std::bad_alloc&) {
      continue;  // the pages stay as they are, and are not handed out again
    }
    const auto begin = extent->first * BlockArena::k_extent;
    used_.erase(extent);
    source_.give_back(reinterpret_cast<void*>(begin),  // NOLINT(performance-no-int-to-ptr)
                      BlockArena::k_extent);
  }
}

}  // namespace terrace::memory
