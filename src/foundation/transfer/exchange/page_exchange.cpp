// SPDX-License-Identifier: Apache-2.0
// Exchanges pages by UFFDIO_MOVE, in segments of several 2 MiB pieces, for the copier numa_swap. See
// page_exchange.hpp.
#include "transfer/exchange/page_exchange.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "memory/numa_node.hpp"
#include "transfer/exchange/exchange_lock.hpp"

namespace terrace::transfer {

namespace {

constexpr std::size_t k_segment = 8 * PageExchange::k_piece;

void* memory_at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

PageExchange::PageExchange(SlotAccounting& accounting, std::size_t threads, std::size_t max_cached,
                           std::size_t copiers, void (*enter)())
    : staging_(faults_, accounting, 2 * threads + max_cached, max_cached), copy_threads_(copiers, enter) {}

// Chooses the kernel on first use. Threads that call during the choice use memcpy.
const CopyKernel& PageExchange::kernel() noexcept {
  if (const auto* const chosen = kernel_.load(std::memory_order_acquire)) return *chosen;
  if (choosing_.exchange(true)) return copy_kernels().front();
  const auto& chosen = choose_kernel();
  kernel_.store(&chosen, std::memory_order_release);
  return chosen;
}

// Measures between pages of the local node: non-temporal stores depend on the processor more than on the memory.
const CopyKernel& PageExchange::choose_kernel() noexcept {
  const auto* chosen = &copy_kernels().front();
  unsigned cpu = 0;
  unsigned node = 0;
  if (syscall(SYS_getcpu, &cpu, &node, nullptr) != 0) return *chosen;
  for (const bool huge : {true, false}) {
    int error = 0;
    auto* const from = staging_.acquire_filled(k_piece, huge, static_cast<int>(node), error);
    auto* const to = from ? staging_.acquire_filled(k_piece, huge, static_cast<int>(node), error) : nullptr;
    if (from && to) chosen = &fastest_copy_kernel(memory_at(to->address), memory_at(from->address), k_piece);
    if (from) staging_.release_slot(*from);
    if (to) staging_.release_slot(*to);
    if (to) break;
  }
  return *chosen;
}

// Works in segments of 8 pieces that are watched as one, which saves two system calls a piece. Cost: a first touch
// within a segment, and fork(2), wait until the segment is unregistered.
int PageExchange::migrate_range(std::uint64_t address, std::size_t size, int node) noexcept {
  int problem = 0;
  for (const auto end = address + size; address < end;) {
    const auto segment = std::min(align_down(address, k_segment) + k_segment, end) - address;
    std::size_t done = 0;
    int error = migrate_segment(address, segment, node, done);
    if (error != 0) {
      // The failed piece. A write fault on each page (populate) breaks copy-on-write sharing with a child of
      // fork(2).
      const auto last = std::max(align_down(address + done - 1, k_piece), address);
      const auto piece = address + done - last;
      if (error == EBUSY && memory::populate(last, piece) == 0) error = migrate_segment(last, piece, node, done);
      address = last + piece;
    } else {
      address += done;
    }
    if (error != 0) problem = error;
  }
  return problem;
}

// Migrates piece by piece until one fails. `done`: bytes attempted.
int PageExchange::migrate_segment(std::uint64_t address, std::size_t size, int node, std::size_t& done) noexcept {
  static_cast<void>(kernel());  // chooses the kernel now, while the slots that this needs are free
  const ExchangeScope underway;
  int error = faults_.register_range(address, size);
  if (error != 0) {
    done = size;
    return error;
  }
  for (done = 0; done < size && error == 0;) {
    const auto at = address + done;
    const auto piece = std::min(align_down(at, k_piece) + k_piece, address + size) - at;
    error = migrate_piece(at, piece, node);
    done += piece;
  }
  faults_.unregister_range(address, size);
  return error;
}

// Migrates at most 2 MiB: obtains a slot with pages of the node and an empty one, and exchanges the pages.
int PageExchange::migrate_piece(std::uint64_t address, std::size_t size, int node) noexcept {
  int error = 0;
  const bool huge = size == k_piece && faults_.page_map().may_be_huge(address);
  auto* const new_pages = staging_.acquire_filled(size, huge, node, error);
  if (!new_pages) return error;
  if (auto* const old_pages = staging_.acquire_empty(huge)) {
    error = exchange_pages(address, size, *old_pages, *new_pages);
    staging_.release_slot(*old_pages);
  } else {
    error = EAGAIN;
  }
  staging_.release_slot(*new_pages);
  return error;
}

// Detaches the old pages, copies them to the new ones, and attaches these. Returns 0 or an errno value, with the
// old pages back in place.
int PageExchange::exchange_pages(std::uint64_t address, std::size_t size, Staging::Slot& old_pages,
                                 Staging::Slot& new_pages) noexcept {
  std::size_t moved = 0;
  if (const int error = faults_.move(old_pages.address, address, size, moved); error != 0) {
    faults_.restore(address, old_pages.address, size, moved);  // unregister_range() wakes the waiters
    staging_.clear(old_pages);
    return error;
  }
  const auto copied = new_pages.tail(size);
  copy(memory_at(copied), memory_at(old_pages.address), size);
  const int error = faults_.move(address, copied, size, moved);
  if (error != 0)
    faults_.force_copy(address + moved, copied + moved, size - moved);  // the range must become complete
  faults_.wake(address, size);
  staging_.record_exchange(old_pages, new_pages, size);
  if (error != 0) staging_.clear(new_pages);  // its pages were copied, not moved
  return 0;
}

}  // namespace terrace::transfer
