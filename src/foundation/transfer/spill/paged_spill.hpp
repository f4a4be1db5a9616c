// Memory over a file where nobody may wait for page faults: blocks are mappings of the file, and the kernel pages
// them as it sees fit. A thread holds the process to its memory: where it has more, pages of blocks leave, one
// block after another.
//
// Each block has its room in the file from the beginning; one that the file has no room for stays in memory. The
// thread has a table of files of its own, so that the program cannot close the file.
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
  void leave(std::uint64_t address, std::size_t size) noexcept override;
  void prefer(std::uint64_t, std::size_t, Preference) noexcept override {}  // the kernel decides
  void change_rights(std::uint64_t address, std::size_t size, bool usual) noexcept override;
  // What parent and child have is settled: both read the file, where it is not written any more, and what they
  // write to it stays in memory. New blocks have a new file.
  void before_fork(std::span<const std::uint64_t> at_once) noexcept override;
  void after_fork() noexcept override;
  void in_child() noexcept override;

 private:
  enum class State : std::uint8_t { memory, file, settled };
  struct Call {
    enum class What : std::uint8_t { stop, reserve, release, discard, settle };
    What what = What::stop;
    std::uint64_t first = 0;  // chunks
    std::uint64_t count = 0;
  };

  [[nodiscard]] std::uint64_t place(std::uint64_t chunk) const noexcept { return parts_.base + chunk * k_chunk; }
  [[nodiscard]] Call about(Call::What what, std::uint64_t address, std::size_t size) const noexcept {
    return {what, (address - parts_.base) / k_chunk, size / k_chunk};
  }
  void call(const Call& call) noexcept;

  // The thread.
  static void* thread_body(void* self);
  void run() noexcept;
  void note_fault_waits() noexcept;
  void carry_out() noexcept;
  template <class Body>
  void by_state(const Call& range, Body&& body) noexcept;
  void set(std::uint64_t first, std::uint64_t count, State state) noexcept;
  void reserve_now(std::uint64_t first, std::uint64_t count) noexcept;
  void discard_now(State state, std::uint64_t first, std::uint64_t count) noexcept;
  void settle(std::uint64_t first, std::uint64_t count) noexcept;
  void drop(std::uint64_t first, std::uint64_t count) noexcept;
  [[nodiscard]] bool has_file() noexcept;
  bool hold_to_memory() noexcept;

  std::uint64_t count_;      // chunks
  State* states_ = nullptr;  // by chunk
  std::uint64_t end_ = 0;    // no chunk from here on was ever reserved
  FaultWaits fault_waits_;
  std::uint64_t in_file_ = 0;      // chunks that are not in State::memory,
  std::uint64_t mapped_ = 0;       // and those in State::file
  std::uint64_t hand_ = 0;         // the chunk whose pages leave next
  std::optional<SpillFile> file_;  // none after a fork, until there is a new block
  bool said_full_ = false;

  std::mutex calling_;
  Call call_;
  std::atomic<std::uint32_t> answers_{0};
  sem_t called_{}, begun_{};
  std::string problem_;  // why it did not begin
  pthread_t thread_{};
};

}  // namespace terrace::transfer
