// SPDX-License-Identifier: Apache-2.0
// Implements sentinels: detaches the first pages of chunks, and runs the thread that reports accesses to them. See
// page_sentinels.hpp.
#include "transfer/exchange/page_sentinels.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/error.hpp"
#include "core/high_fd.hpp"
#include "core/internal_thread.hpp"
#include "core/rounding.hpp"
#include "core/userfault_file.hpp"
#include "memory/numa_node.hpp"

namespace terrace::transfer {

namespace {

constexpr int k_mremap_dontunmap = 4;  // MREMAP_DONTUNMAP, which older headers lack

constexpr int k_max_busy_tries = 4;                 // for a busy page, 1 ms apart
constexpr int k_poll_interval_ms = 1000;            // the program may have closed stop_fd_
constexpr std::uint32_t k_all_chunks = 0xffffffff;  // chunks

void sleep_1ms() noexcept {
  const timespec moment{0, 1'000'000};
  syscall(SYS_nanosleep, &moment, nullptr);
}

bool kernel_supports_move() noexcept { return Userfault().is_available(); }

}  // namespace

PageSentinels::PageSentinels(OnTouch on_touch, void* context, void (*enter)())
    : on_touch_(on_touch),
      context_(context),
      enter_(enter),
      faults_(kernel_supports_move() ? k_userfault_move : 0) {
  if (!faults_.is_available())
    throw Error(Code::failed, "accesses to pages cannot be watched, " + why_no_userfault(faults_.error()));
  if (kernel_supports_move()) staging_.emplace(faults_, accounting_, k_max, 0);
  sentinels_.reserve(k_max);
  sem_init(&ready_, 0, 0);
  stop_fd_ = move_fd_high(eventfd(0, EFD_CLOEXEC));
  if (stop_fd_ < 0)
    throw Error(Code::failed, "accesses to pages cannot be watched: no file descriptor left; raise ulimit -n");
  if (!start_signal_masked_thread(thread_, "terrace/touch", thread_body, this)) {
    syscall(SYS_close, stop_fd_);
    throw Error(Code::failed, "accesses to pages cannot be watched: no thread could be started; raise ulimit -u");
  }
  while (sem_wait(&ready_) != 0) {
  }
  register_self();
}

PageSentinels::~PageSentinels() {
  unregister_self();
  disarm(0, k_all_chunks);
  stopped_ = true;
  const std::uint64_t one = 1;
  while (write(stop_fd_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  pthread_join(thread_, nullptr);
  syscall(SYS_close, stop_fd_);
}

// Holds an ExchangeScope: no pages may be detached while exchanges are suspended.
bool PageSentinels::arm(ChunkId chunk, std::uint64_t epoch, std::uint64_t address, std::size_t size) noexcept {
  const ExchangeScope underway;
  const std::lock_guard lock(mutex_);
  const auto begin = align_up(address, k_page);
  const auto end = std::min(align_down(address + size, k_page), align_down(begin, k_piece) + k_piece);
  if (begin >= end || sentinels_.size() == k_max) return false;
  Sentinel sentinel{.chunk = chunk, .epoch = epoch, .address = begin, .size = end - begin};
  if (!detach(sentinel)) return false;
  sentinels_.push_back(sentinel);
  return true;
}

bool PageSentinels::disarm(ChunkId first, std::uint32_t count) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase_if(sentinels_, [&](Sentinel& sentinel) {
           return sentinel.chunk - first < count && reattach(sentinel);
         }) > 0;
}

void PageSentinels::reattach_range(std::uint64_t low, std::uint64_t high) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& sentinel : sentinels_)
    if (sentinel.address < high && low < sentinel.address + sentinel.size) reattach(sentinel);
}

void PageSentinels::detach_again() noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(sentinels_, [&](Sentinel& sentinel) { return !is_detached(sentinel) && !detach(sentinel); });
}

// Detaches the sentinel's pages, so that the next access to them traps.
bool PageSentinels::detach(Sentinel& sentinel) noexcept {
  if (faults_.register_range(sentinel.address, sentinel.size) != 0) return false;
  if ((staging_ && detach_by_move(sentinel)) || detach_by_mremap(sentinel)) return true;
  faults_.unregister_range(sentinel.address, sentinel.size);
  return false;
}

// Breaks copy-on-write sharing with a child of fork(2) by write faults. Unregisters the range meanwhile: in a
// watched range a fault on an absent page would block this thread.
bool PageSentinels::break_sharing(const Sentinel& sentinel) noexcept {
  faults_.unregister_range(sentinel.address, sentinel.size);
  const bool own = memory::populate(sentinel.address, sentinel.size) == 0;
  return faults_.register_range(sentinel.address, sentinel.size) == 0 && own;
}

// Detaches by UFFDIO_MOVE. Untouched pages stay absent, and trap as well. A page may be busy because a child of
// fork(2) shares it, or because the kernel inspects it. Some stay busy: the kernel does not move the rest of a
// huge page whose copy-on-write was in progress when the child ended; mremap(2) does.
bool PageSentinels::detach_by_move(Sentinel& sentinel) noexcept {
  const bool huge = sentinel.size == k_piece && faults_.page_map().may_be_huge(sentinel.address);
  auto* const slot = staging_->acquire_empty(huge);
  if (!slot) return false;
  for (int tries = 0; tries < k_max_busy_tries; ++tries) {
    std::size_t moved = 0;
    const int error = faults_.move(slot->address, sentinel.address, sentinel.size, moved);
    if (error == 0 || error == ENOENT) {
      sentinel.slot = slot;
      sentinel.moved = moved;
      return true;
    }
    faults_.restore(sentinel.address, slot->address, sentinel.size, moved);
    if (error != EBUSY || !break_sharing(sentinel)) break;
    if (tries > 0) sleep_1ms();
  }
  staging_->clear(*slot);
  staging_->release_slot(*slot);
  return false;
}

bool PageSentinels::detach_by_mremap(Sentinel& sentinel) noexcept {
  const auto got = syscall(SYS_mremap, sentinel.address, sentinel.size, sentinel.size,
                           MREMAP_MAYMOVE | k_mremap_dontunmap, nullptr);
  if (got < 0) return false;
  sentinel.mapping = static_cast<std::uint64_t>(got);
  return true;
}

// Moves the pages back; unregistering the range wakes its waiters. Returns false where the program has closed this
// thread's descriptor: then the pages are moved back at the next fault.
bool PageSentinels::reattach(Sentinel& sentinel) noexcept {
  if (!is_detached(sentinel)) return true;
  if (!faults_.is_open(sentinel.address)) return false;
  if (sentinel.slot) {
    faults_.restore(sentinel.address, sentinel.slot->address, sentinel.size, sentinel.moved);
    staging_->clear(*sentinel.slot);
    staging_->release_slot(*sentinel.slot);
  } else {
    if (faults_.copy(sentinel.address, sentinel.mapping, sentinel.size) != 0)
      faults_.force_copy(sentinel.address, sentinel.mapping, sentinel.size);
    syscall(SYS_munmap, sentinel.mapping, sentinel.size);
  }
  faults_.unregister_range(sentinel.address, sentinel.size);
  sentinel.slot = nullptr;
  sentinel.mapping = 0;
  return true;
}

// Removes and returns the sentinel at a faulting address, with its pages moved back. Empty if that was done
// already.
std::optional<PageSentinels::Sentinel> PageSentinels::take_touched(std::uint64_t address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      sentinels_, [&](const Sentinel& sentinel) { return address - sentinel.address < sentinel.size; });
  if (found == sentinels_.end()) return {};
  reattach(*found);
  const auto sentinel = *found;
  sentinels_.erase(found);
  return sentinel;
}

// Loop of the sentinel thread: reads page faults and reports the sentinels that were accessed.
void PageSentinels::run() noexcept {
  while (!stopped_) {
    std::array<pollfd, 2> files{{{faults_.fd(), POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
    if (poll(files.data(), files.size(), k_poll_interval_ms) < 0) continue;
    for (std::uint64_t address = 0; faults_.next_fault(address);)
      if (const auto sentinel = take_touched(address)) on_touch_(context_, sentinel->chunk, sentinel->epoch);
  }
}

void* PageSentinels::thread_body(void* self) {
  auto& sentinels = *static_cast<PageSentinels*>(self);
  if (sentinels.enter_ != nullptr) sentinels.enter_();
  // When the last descriptor is closed, the kernel unregisters all ranges, and detached pages would read as zeros.
  unshare_fd_table(sentinels.faults_.fd(), sentinels.stop_fd_);
  sem_post(&sentinels.ready_);
  sentinels.run();
  return nullptr;
}

}  // namespace terrace::transfer
