// Says when somebody touches a chunk: the pages that it begins with are put aside, and who touches one of them
// waits in the kernel until they are back. Nothing is lost, inside system calls neither.
//
// Pages leave by UFFDIO_MOVE and come back so (Linux 6.8); on older kernels they leave by mremap(2) with
// MREMAP_DONTUNMAP (5.7) and are copied when they come back. A piece of 2 MiB at most is put aside of each chunk:
// what sweeps over it meets that first, and the trap stays cheap.
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
  static constexpr std::size_t k_max = 64;  // at a time
  static constexpr std::size_t k_piece = Staging::k_slot;

  // `touched` is told on a thread of its own, which begins with every signal blocked and calls `enter` first. The
  // pages are back by then, and the program may be far beyond: `turn` is what arm() was told. Throws Error{failed}
  // when the system lacks what it takes.
  using OnTouch = void (*)(void* context, ChunkId chunk, std::uint64_t epoch) noexcept;
  PageSentinels(OnTouch on_touch, void* context, void (*enter)() = nullptr);
  ~PageSentinels() override;
  PageSentinels(const PageSentinels&) = delete;
  PageSentinels& operator=(const PageSentinels&) = delete;

  // From now on who touches the beginning of the range, private anonymous memory, is noticed, once. False where
  // that cannot be: it holds no whole page, is of another kind, or too many are watched.
  bool arm(ChunkId chunk, std::uint64_t epoch, std::uint64_t address, std::size_t size) noexcept;
  // Nobody is told of these any more; their pages are back. False where none of them was armed.
  bool disarm(ChunkId first, std::uint32_t count) noexcept;

 private:
  struct Sentinel {
    ChunkId chunk = 0;
    std::uint64_t epoch = 0;
    std::uint64_t address = 0;
    std::size_t size = 0;
    Staging::Slot* slot = nullptr;  // where its pages are, or
    std::uint64_t mapping = 0;        // the mapping in which they are; neither: in their place
    std::size_t moved = 0;          // bytes that the slot has
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
  static bool is_detached(const Sentinel& sentinel) noexcept { return sentinel.slot != nullptr || sentinel.mapping != 0; }
  bool reattach(Sentinel& sentinel) noexcept;
  std::optional<Sentinel> take_touched(std::uint64_t address) noexcept;
  void run() noexcept;
  static void* thread_body(void* self);

  OnTouch on_touch_;
  void* context_;
  void (*enter_)();
  Userfault faults_;
  NoCachedSlots accounting_;
  std::optional<Staging> staging_;  // where the kernel moves pages
  int stop_fd_ = -1;                   // eventfd(2)
  std::atomic<bool> stopped_{false};
  sem_t ready_{};  // the thread has files of its own
  pthread_t thread_{};
  // Of posts_. Whoever holds it touches no memory of the program: the thread that brings pages back needs it.
  std::mutex mutex_;
  std::vector<Sentinel> sentinels_;
};

}  // namespace terrace::transfer
