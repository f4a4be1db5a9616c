// See extent_pages.hpp.
#include "memory/arenas/extent_pages.hpp"

#include <algorithm>
#include <new>

namespace terrace::memory {

namespace {

constexpr std::uint64_t k_pages = BlockArena::k_extent / k_page;
static_assert(k_pages * sizeof(void*) == k_page);

Run** table_at(std::uint64_t page) {
  return reinterpret_cast<Run**>(page / k_pages * BlockArena::k_extent);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

bool ExtentPages::add_extent() {
  void* const got = source_.obtain(BlockArena::k_extent);
  if (!got) return false;
  const auto page = reinterpret_cast<std::uint64_t>(got) / k_page;
  try {
    used_.emplace(page / k_pages, 0);
    free_.give(page + 1, k_pages - 1);
    return true;
  } catch (const std::bad_alloc&) {
    used_.erase(page / k_pages);
    source_.give_back(got, BlockArena::k_extent);
    return false;
  }
}

std::uint64_t ExtentPages::take(std::uint64_t pages, std::uint64_t alignment, Run* run) noexcept {
  try {
    auto found = free_.take(pages, alignment);
    if (!found && add_extent()) found = free_.take(pages, alignment);
    if (!found) return 0;
    const auto extent = *found / k_pages;
    used_.find(extent)->second += pages;
    if (empty_ == extent) empty_ = 0;
    std::fill_n(table_at(*found) + *found % k_pages, pages, run);
    return *found * k_page;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

void ExtentPages::give(std::uint64_t address, std::uint64_t pages) noexcept {
  const auto page = address / k_page;
  const auto extent = page / k_pages;
  std::fill_n(table_at(page) + page % k_pages, pages, nullptr);
  try {
    free_.give(page, pages);
  } catch (const std::bad_alloc&) {
    return;  // they are not handed out again
  }
  const auto used = used_.find(extent);
  used->second -= pages;
  if (used->second > 0) return;
  if (empty_ != 0) give_back(empty_);
  empty_ = extent;
}

void ExtentPages::give_back_empty() noexcept {
  if (empty_ != 0) give_back(empty_);
  empty_ = 0;
}

void ExtentPages::give_back(std::uint64_t extent) noexcept {
  try {
    if (!free_.take_at(extent * k_pages + 1, k_pages - 1)) return;
  } catch (const std::bad_alloc&) {
    return;
  }
  used_.erase(extent);
  source_.give_back(reinterpret_cast<void*>(extent * BlockArena::k_extent),  // NOLINT(performance-no-int-to-ptr)
                    BlockArena::k_extent);
}

}  // namespace terrace::memory
