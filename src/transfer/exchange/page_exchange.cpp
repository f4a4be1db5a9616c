// See page_exchange.hpp.
#include "transfer/exchange/page_exchange.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "memory/numa_node.hpp"
#include "transfer/exchange/holding.hpp"

namespace terrace::transfer {

namespace {

void pause_a_moment() noexcept {
  const timespec moment{0, 1'000'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

PageExchange::PageExchange(SlotAccount& account, std::size_t threads, std::size_t keep)
    : staging_(faults_, account, 2 * threads + keep, keep), kernel_(&copy_kernels().front()) {
  choose_kernel();
}

// Between pages of the node at hand: how stores pass by caches is the processor's business more than the memory's.
void PageExchange::choose_kernel() noexcept {
  unsigned cpu = 0;
  unsigned node = 0;
  if (syscall(SYS_getcpu, &cpu, &node, nullptr) != 0) return;
  int error = 0;
  auto* const from = staging_.take_filled(Staging::k_slot, static_cast<int>(node), error);
  auto* const to = from ? staging_.take_filled(Staging::k_slot, static_cast<int>(node), error) : nullptr;
  if (from && to) kernel_ = &fastest_copy_kernel(to->data(), from->data(), Staging::k_slot);
  if (from) staging_.give(*from);
  if (to) staging_.give(*to);
}

int PageExchange::bring(std::uint64_t address, std::size_t size, int node) noexcept {
  int problem = 0;
  for (const auto end = address + size; address < end;) {
    const auto piece = std::min(align_down(address, Staging::k_slot) + Staging::k_slot, end) - address;
    int error = bring_piece(address, piece, node);
    // Pages that a child of fork(2) shares become this process's own when they are written.
    if (error == EBUSY && memory::populate(address, piece) == 0) error = bring_piece(address, piece, node);
    if (error != 0) problem = error;
    address += piece;
  }
  return problem;
}

int PageExchange::bring_piece(std::uint64_t address, std::size_t size, int node) noexcept {
  int error = 0;
  auto* const new_pages = staging_.take_filled(size, node, error);
  if (!new_pages) return error;
  if (auto* const old_pages = staging_.take_empty()) {
    const Underway underway;
    error = faults_.watch(address, size);
    if (error == 0) {
      error = swap(address, size, *old_pages, *new_pages);
      faults_.forget(address, size);
    }
    staging_.give(*old_pages);
  } else {
    error = EAGAIN;
  }
  staging_.give(*new_pages);
  return error;
}

int PageExchange::swap(std::uint64_t address, std::size_t size, Staging::Slot& old_pages,
                       Staging::Slot& new_pages) noexcept {
  std::size_t moved = 0;
  if (const int error = faults_.move(old_pages.address, address, size, moved); error != 0) {
    put_back(address, old_pages.address, moved);
    staging_.clear(old_pages);
    return error;
  }
  kernel_->copy(new_pages.data(), old_pages.data(), size);
  const int error = faults_.move(address, new_pages.address, size, moved);
  if (error != 0) insist(address + moved, new_pages.address + moved, size - moved);
  faults_.wake(address, size);
  staging_.exchanged(old_pages, new_pages, size);
  if (error != 0) staging_.clear(new_pages);  // it still has what was copied instead
  return 0;
}

// Who waits for the range is woken when it is forgotten.
void PageExchange::put_back(std::uint64_t address, std::uint64_t from, std::size_t size) noexcept {
  std::size_t moved = 0;
  if (size > 0 && faults_.move(address, from, size, moved) != 0)
    insist(address + moved, from + moved, size - moved);
}

// The range has to become whole: without its content the program could not go on. A copy needs new pages, and
// waits while there are none. Any other answer says that the page is there, or that the program has unmapped the
// range.
void PageExchange::insist(std::uint64_t address, std::uint64_t from, std::size_t size) noexcept {
  for (std::size_t at = 0; at < size; at += k_page)
    while (faults_.copy(address + at, from + at, k_page) == ENOMEM) pause_a_moment();
}

}  // namespace terrace::transfer
