// SPDX-License-Identifier: Apache-2.0
// Declares out-of-core memory by kernel paging, which the agent's heap uses in processes that may not use
// userfaultfd(2): blocks are shared mappings of the file. A thread enforces the memory limit: while the process
// has more resident memory, it pages blocks out (MADV_PAGEOUT), in clock order.
//
// Each block reserves its file space at the start; a block that the file cannot take stays anonymous memory. The
// thread has its own file table, so that the program cannot close the file. Public calls are thread-safe: each
// posts to the thread and waits.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "transfer/spill/fault_waits.hpp"
#include "transfer/spill/spill_engine.hpp"
#include "transfer/spill/spill_file.hpp"

namespace terrace::transfer {

class PagedSpill final : public SpillEngine {
 public:
  // Throws Error{failed}, which names folder and reason.
  explicit PagedSpill(const Parts& parts);
  ~PagedSpill() override;

  void reserve(std::uint64_t address, std::size_t size) noexcept override;
  void release(std::uint64_t address, std::size_t size) noexcept override;
  void discard(std::uint64_t address, std::size_t size) noexcept override;
  void unmanage(std::uint64_t address, std::size_t size) noexcept override;
  void prefer(std::uint64_t, std::size_t, Preference) noexcept override {
  }  // no effect: the kernel selects victims
  void change_protection(std::uint64_t address, std::size_t size, bool is_default) noexcept override;
  // Detaches all blocks: parent and child map the file privately from then on, so it is not modified any more, and
  // their later writes stay in memory. New blocks use a new file.
  void before_fork(std::span<const std::uint64_t> at_once) noexcept override;
  void after_fork() noexcept override;
  void in_child() noexcept override;

 private:
  // anonymous: not in the file; shared: mapped shared; detached: mapped privately, writes stay in memory.
  enum class State : std::uint8_t { anonymous, shared, detached };
  struct Call {
    enum class Kind : std::uint8_t { stop, reserve, release, discard, detach };
    Kind kind = Kind::stop;
    std::uint64_t first = 0;  // chunks
    std::uint64_t count = 0;
  };

  [[nodiscard]] std::uint64_t address_of(std::uint64_t chunk) const noexcept {
    return parts_.base + chunk * k_chunk;
  }
  [[nodiscard]] Call make_call(Call::Kind kind, std::uint64_t address, std::size_t size) const noexcept {
    return {kind, (address - parts_.base) / k_chunk, size / k_chunk};
  }
  void post_and_wait(const Call& call) noexcept;

  // Thread of the engine.
  static void* thread_body(void* self);
  void run() noexcept;
  void sample_fault_waits() noexcept;
  void execute_call() noexcept;
  template <class Body>
  void for_each_run(const Call& range, Body&& body) noexcept;
  void set_state(std::uint64_t first, std::uint64_t count, State state) noexcept;
  void reserve_now(std::uint64_t first, std::uint64_t count) noexcept;
  void discard_now(State state, std::uint64_t first, std::uint64_t count) noexcept;
  void detach(std::uint64_t first, std::uint64_t count) noexcept;
  void unmap_and_release(std::uint64_t first, std::uint64_t count) noexcept;
  [[nodiscard]] bool ensure_file() noexcept;
  bool enforce_limit() noexcept;

  std::uint64_t count_;      // chunks
  State* states_ = nullptr;  // by chunk
  std::uint64_t end_ = 0;    // index behind the last chunk ever reserved
  FaultWaits fault_waits_;
  std::uint64_t num_in_file_ = 0;  // chunks not in State::anonymous
  std::uint64_t num_shared_ = 0;   // chunks in State::shared
  std::uint64_t clock_hand_ = 0;   // next chunk to page out
  std::optional<SpillFile> file_;  // none between a fork and the next block
  bool said_full_ = false;

  std::mutex call_mutex_;
  Call call_;
  std::atomic<std::uint32_t> answers_{0};
  sem_t called_{}, started_{};
  std::string problem_;  // reason why the start failed
  pthread_t thread_{};
};

}  // namespace terrace::transfer
