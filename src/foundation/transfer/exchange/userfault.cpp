// SPDX-License-Identifier: Apache-2.0
// Implements moves, copies and wake-ups by userfaultfd(2) for page exchanges, sentinels and the pager, with the
// kernel's partial results and restarts handled. See userfault.hpp.
#include "transfer/exchange/userfault.hpp"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "core/rounding.hpp"

namespace terrace::transfer {

namespace {

// Constants that older headers lack.
constexpr std::uint64_t k_move_bit = 5;  // number of the UFFDIO_MOVE ioctl
constexpr std::uint64_t k_mode_dont_wake = 1;

struct MoveCall {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t size;
  std::uint64_t mode;
  std::int64_t moved;
};
constexpr unsigned long k_move = _IOWR(UFFDIO, k_move_bit, MoveCall);

struct PoisonCall {
  uffdio_range range;
  std::uint64_t mode;
  std::int64_t updated;
};
constexpr unsigned long k_poison = _IOWR(UFFDIO, 8, PoisonCall);

void wait_for_memory() noexcept {
  const timespec moment{0, 1'000'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

Userfault::Userfault(std::uint64_t features) noexcept : fd_(open_userfault(features)) {}

Userfault::~Userfault() {
  if (fd_ >= 0) syscall(SYS_close, fd_);
}

int Userfault::register_range(std::uint64_t address, std::size_t size) noexcept {
  uffdio_register call{};
  call.range = {address, size};
  call.mode = UFFDIO_REGISTER_MODE_MISSING;
  return ioctl(fd_, UFFDIO_REGISTER, &call) == 0 ? 0 : errno;
}

int Userfault::unregister_range(std::uint64_t address, std::size_t size) noexcept {
  uffdio_range range{address, size};
  if (ioctl(fd_, UFFDIO_UNREGISTER, &range) != 0) return errno;
  // The kernel wakes waiters before it locks the range: a thread that faults in between would wait for ever (Linux
  // 6.18, observed once in a few thousand trials). Wake again.
  wake(address, size);
  return 0;
}

void Userfault::wake(std::uint64_t address, std::size_t size) noexcept {
  uffdio_range range{address, size};
  ioctl(fd_, UFFDIO_WAKE, &range);
}

bool Userfault::is_open(std::uint64_t page) const noexcept {
  uffdio_range range{page, k_page};
  return ioctl(fd_, UFFDIO_WAKE, &range) == 0;
}

bool Userfault::next_fault(std::uint64_t& address, std::uint32_t* thread) noexcept {
  uffd_msg message{};
  for (;;) {
    const auto got = read(fd_, &message, sizeof message);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof message) return false;
    if (message.event == UFFD_EVENT_REMAP) ++num_remaps_;
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    address = message.arg.pagefault.address;
    if (thread) *thread = message.arg.pagefault.feat.ptid;
    return true;
  }
}

bool Userfault::has_moved(std::uint64_t to, std::uint64_t from) const noexcept {
  return !page_map_.has_page(from) && page_map_.has_page(to);
}

// The kernel stops at concurrent changes and reports its progress. It may return EEXIST for a page that it has
// moved but not counted before an internal restart (Linux 6.18). Such a page may be swapped out by now.
int Userfault::move(std::uint64_t to, std::uint64_t from, std::size_t size, std::size_t& moved) noexcept {
  for (moved = 0; moved < size;) {
    MoveCall call{to + moved, from + moved, size - moved, k_mode_dont_wake, 0};
    if (ioctl(fd_, k_move, &call) == 0) {
      moved = size;
      return 0;
    }
    const int error = errno;
    if (call.moved > 0)
      moved += static_cast<std::size_t>(call.moved);
    else if ((error == EEXIST || error == ENOENT) && has_moved(to + moved, from + moved))
      moved += k_page;
    else if (error != EAGAIN && error != EINTR)
      return error;
  }
  return 0;
}

int Userfault::copy(std::uint64_t to, std::uint64_t source, std::size_t size) noexcept {
  for (std::size_t done = 0; done < size;) {
    uffdio_copy call{};
    call.dst = to + done;
    call.src = source + done;
    call.len = size - done;
    if (ioctl(fd_, UFFDIO_COPY, &call) == 0) return 0;
    if (call.copy > 0)
      done += static_cast<std::size_t>(call.copy);
    else if (errno != EAGAIN && errno != EINTR)
      return errno;
  }
  return 0;
}

// Moves the pages back after a failed move(): those that the kernel counted at once, uncounted ones one by one.
void Userfault::restore(std::uint64_t address, std::uint64_t from, std::size_t size,
                        std::size_t counted) noexcept {
  std::size_t moved = 0;
  if (counted > 0) move(address, from, counted, moved);
  for (auto at = from + moved; (at = page_map_.next_page(at, from + size)) < from + size; at += k_page)
    if (std::size_t page = 0; move(address + (at - from), at, k_page, page) != 0)
      force_copy(address + (at - from), at, k_page);
}

void Userfault::fill_with_zeros(std::uint64_t address, std::size_t size) noexcept {
  uffdio_zeropage call{};
  call.range = {address, size};
  ioctl(fd_, UFFDIO_ZEROPAGE, &call);
}

void Userfault::poison(std::uint64_t address, std::size_t size) noexcept {
  PoisonCall call{{address, size}, 0, 0};
  ioctl(fd_, k_poison, &call);
}

bool Userfault::force_copy(std::uint64_t address, std::uint64_t from, std::size_t size) noexcept {
  bool all = true;
  for (std::size_t at = 0; at < size; at += k_page) {
    int error = 0;
    while ((error = copy(address + at, from + at, k_page)) == ENOMEM) wait_for_memory();
    all = all && (error == 0 || error == EEXIST);
  }
  return all;
}

}  // namespace terrace::transfer
