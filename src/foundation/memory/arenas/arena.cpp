// See arena.hpp.
#include "memory/arenas/arena.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace terrace::memory {

namespace {

// At least eight blocks; of small ones 32 and more.
std::uint64_t pages_of_slab(std::size_t block) {
  const auto bytes = std::max(std::min<std::size_t>(block * 32, 16 * k_page), block * 8);
  return std::max<std::uint64_t>(4, divided_up(bytes, k_page));
}

void*& next_of(void* block) { return *static_cast<void**>(block); }

}  // namespace

void Arena::link(Class& of, Run* slab) noexcept {
  slab->previous = nullptr;
  slab->next = of.some;
  if (of.some) of.some->previous = slab;
  of.some = slab;
}

void Arena::unlink(Class& of, Run* slab) noexcept {
  if (slab->next) slab->next->previous = slab->previous;
  (slab->previous ? slab->previous->next : of.some) = slab->next;
}

Run* Arena::add_slab(std::size_t size_class) noexcept {
  auto* const slab = new (std::nothrow) Run;
  if (!slab) return nullptr;
  slab->block = size_of_class(size_class);
  slab->size_class = size_class;
  slab->pages = pages_of_slab(slab->block);
  // Blocks whose size is a power of two lie at multiples of it.
  const auto alignment = std::has_single_bit(slab->block) ? std::max<std::size_t>(slab->block / k_page, 1) : 1;
  slab->address = pages_.take(slab->pages, alignment, slab);
  if (slab->address == 0) {
    delete slab;
    return nullptr;
  }
  slab->blocks = static_cast<std::uint32_t>(slab->pages * k_page / slab->block);
  link(classes_[size_class], slab);
  return slab;
}

void Arena::drop(Class& of, Run* slab) noexcept {
  unlink(of, slab);
  pages_.give(slab->address, slab->pages);
  delete slab;
}

std::size_t Arena::take(std::size_t size_class, std::size_t count, void** list) noexcept {
  const std::lock_guard guard(mutex_);
  auto& of = classes_[size_class];
  std::size_t got = 0;
  *list = nullptr;
  while (got < count) {
    auto* const slab = of.some ? of.some : add_slab(size_class);
    if (!slab) break;
    if (of.empty == slab) of.empty = nullptr;
    while (got < count && (slab->free || slab->fresh < slab->blocks)) {
      void* block = slab->free;
      if (block)
        slab->free = next_of(block);
      else
        block = reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
            slab->address + slab->fresh++ * slab->block);
      next_of(block) = *list;
      *list = block;
      ++slab->used;
      ++got;
    }
    if (!slab->free && slab->fresh == slab->blocks) unlink(of, slab);
  }
  return got;
}

void Arena::give(void* list) noexcept {
  const std::lock_guard guard(mutex_);
  while (list) {
    void* const block = list;
    list = next_of(block);
    auto* const slab = ExtentPages::run_of(block);
    auto& of = classes_[slab->size_class];
    if (!slab->free && slab->fresh == slab->blocks) link(of, slab);
    next_of(block) = slab->free;
    slab->free = block;
    if (--slab->used > 0) continue;
    if (of.empty)
      drop(of, slab);
    else
      of.empty = slab;
  }
}

void* Arena::take_large(std::size_t size, std::size_t alignment) noexcept {
  auto* const run = new (std::nothrow) Run;
  if (!run) return nullptr;
  run->pages = divided_up(size, k_page);
  run->block = run->pages * k_page;
  run->size_class = k_classes;
  {
    const std::lock_guard guard(mutex_);
    run->address = pages_.take(run->pages, std::max<std::size_t>(alignment / k_page, 1), run);
  }
  if (run->address != 0) return reinterpret_cast<void*>(run->address);  // NOLINT(performance-no-int-to-ptr)
  delete run;
  return nullptr;
}

void Arena::give_large(Run* run) noexcept {
  {
    const std::lock_guard guard(mutex_);
    pages_.give(run->address, run->pages);
  }
  delete run;
}

void Arena::purge() noexcept {
  const std::lock_guard guard(mutex_);
  for (auto& of : classes_) {
    if (!of.empty) continue;
    drop(of, of.empty);
    of.empty = nullptr;
  }
  pages_.give_back_empty();
}

}  // namespace terrace::memory
