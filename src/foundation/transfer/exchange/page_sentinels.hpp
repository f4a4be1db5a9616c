// SPDX-License-Identifier: Apache-2.0
// Reports the first access to a chunk: detaches the chunk's first pages, so that an access faults and waits in the
// kernel until they are attached again. No access is lost, also inside system calls. The mover begins transfers by
// such reports (mover.hpp, TransferStart::sentinel).
//
// Pages are detached and reattached by UFFDIO_MOVE (Linux 6.8). Older kernels detach by mremap(2) with
// MREMAP_DONTUNMAP (5.7) and reattach by copying. At most 2 MiB of a chunk are detached: a sweep over the chunk
// accesses them first, and the trap stays cheap.
//
// Thread-safe. Not usable in a child of fork(2).
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/identifiers.hpp"
#include "transfer/exchange/exchange_lock.hpp"
#include "transfer/exchange/staging.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

class PageSentinels final : private DetachedPages {
 public:
  static constexpr std::size_t k_max = 64;  // armed at the same time
  static constexpr std::size_t k_piece = Staging::k_slot;

  // `on_touch` is called on a separate thread, which starts with all signals blocked and calls `enter` first. By
  // then the pages are attached again and the program may have gone on; `epoch` is the argument of arm(). Throws
  // Error{failed} where the system lacks a required feature.
  using OnTouch = void (*)(void* context, ChunkId chunk, std::uint64_t epoch) noexcept;
  PageSentinels(OnTouch on_touch, void* context, void (*enter)() = nullptr);
  ~PageSentinels() override;
  PageSentinels(const PageSentinels&) = delete;
  PageSentinels& operator=(const PageSentinels&) = delete;

  // Arms a sentinel at the start of a range of private anonymous memory; it reports one access. Returns false
  // where that is impossible: no whole page in the range, another kind of memory, or k_max sentinels armed.
  bool arm(ChunkId chunk, std::uint64_t epoch, std::uint64_t address, std::size_t size) noexcept;
  // Disarms the sentinels of `count` chunks from `first` on, and attaches their pages. Returns false if none was
  // armed.
  bool disarm(ChunkId first, std::uint32_t count) noexcept;

 private:
  struct Sentinel {
    ChunkId chunk = 0;
    std::uint64_t epoch = 0;
    std::uint64_t address = 0;
    std::size_t size = 0;
    Staging::Slot* slot = nullptr;  // slot with its detached pages, or
    std::uint64_t mapping = 0;      // mapping with them; neither: attached
    std::size_t moved = 0;          // bytes in the slot
  };
  class NoCachedSlots final : public SlotAccounting {
   public:
    bool charge(int, std::size_t) noexcept override { return false; }
    void uncharge(int, std::size_t) noexcept override {}
  };

  void reattach_range(std::uint64_t low, std::uint64_t high) noexcept override;
  void detach_again() noexcept override;
  bool detach(Sentinel& sentinel) noexcept;
  bool break_sharing(const Sentinel& sentinel) noexcept;
  bool detach_by_move(Sentinel& sentinel) noexcept;
  bool detach_by_mremap(Sentinel& sentinel) noexcept;
  static bool is_detached(const Sentinel& sentinel) noexcept {
    return sentinel.slot != nullptr || sentinel.mapping != 0;
  }
  bool reattach(Sentinel& sentinel) noexcept;
  std::optional<Sentinel> take_touched(std::uint64_t address) noexcept;
  void run() noexcept;
  static void* thread_body(void* self);

  OnTouch on_touch_;
  void* context_;
  void (*enter_)();
  Userfault faults_;
  NoCachedSlots accounting_;
  std::optional<Staging> staging_;  // empty where the kernel lacks UFFDIO_MOVE
  int stop_fd_ = -1;                // eventfd(2)
  std::atomic<bool> stopped_{false};
  sem_t ready_{};  // posted when the thread has protected its descriptors
  pthread_t thread_{};
  // Guards sentinels_. Its holder must not access the program's memory: the thread that reattaches pages needs it.
  std::mutex mutex_;
  std::vector<Sentinel> sentinels_;
};

}  // namespace terrace::transfer
