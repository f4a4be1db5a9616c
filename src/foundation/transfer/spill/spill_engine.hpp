// What keeps data over a file: chunks that a thread moves between memory and the file (spill.hpp), or mappings of
// the file that the kernel pages (paged_spill.hpp).
//
// The memory is private and anonymous, a multiple of the chunk. Calls come for whole chunks. After those that say
// so the rights to the range may be the usual ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/units.hpp"
#include "transfer/spill/foresight.hpp"
#include "transfer/spill/spill_counts.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

class SpillEngine {
 public:
  static constexpr std::size_t k_chunk = std::size_t{2} << 20;
  static constexpr std::uint64_t k_no_limit = std::uint64_t{1} << 62;  // nanoseconds: no run lasts so long
  static constexpr std::size_t k_at_once = 256;  // chunks that children may have from their first moment on

  struct Parts {
    std::uint64_t base = 0;  // of the memory
    std::uint64_t size = 0;
    Bytes memory{};  // for the whole process
    std::string folder;
    SpillCounts* counts = nullptr;
    std::unique_ptr<Foresight> (*foresight)() = nullptr;
    void (*enter)() = nullptr;                    // called first on each thread
    void (*say)(const char* sentence) = nullptr;  // to the user
    bool ring = true;                             // io_uring, where the system has it
    bool paged = false;                           // by the kernel
    // Limits handing a block over to kernel paging, in nanoseconds: how long it may take, and after what time the
    // block first comes back to be tried again. A test that must not depend on the disk's speed sets both to
    // k_no_limit.
    std::uint64_t handover_limit_ns = spill_limits::k_patience;
    std::uint64_t first_period_ns = spill_limits::k_period;
  };

  explicit SpillEngine(const Parts& parts) : parts_(parts) {}
  virtual ~SpillEngine() = default;
  SpillEngine(const SpillEngine&) = delete;
  SpillEngine& operator=(const SpillEngine&) = delete;

  // Before the range is handed out.
  virtual void reserve(std::uint64_t address, std::size_t size) noexcept = 0;
  // Nobody needs what is in the range; it is zero when it is touched again. The caller gives back what pages are
  // left in it afterwards.
  virtual void release(std::uint64_t address, std::size_t size) noexcept = 0;
  // The same, and the range stays in use: it is zero from now on. None of it was left. Rights may be the usual
  // ones.
  virtual void discard(std::uint64_t address, std::size_t size) noexcept = 0;
  // The program maps something of its own over a part of the range: what is in these chunks comes to its place and
  // stays there, until they are released. Rights may be the usual ones.
  virtual void leave(std::uint64_t address, std::size_t size) noexcept = 0;
  // The program will change the rights to something in the range; or `usual`: it has changed them back, to all in
  // the range.
  virtual void change_rights(std::uint64_t address, std::size_t size, bool usual) noexcept = 0;

  // What a plan says of the range, until it is released.
  virtual void prefer(std::uint64_t address, std::size_t size, Preference preference) noexcept = 0;

  // Around fork(2), in the thread that forks. The child gets the content as it is then; what is at the addresses,
  // of the range or not, it has from its first moment on. On both sides rights may be the usual ones.
  virtual void before_fork(std::span<const std::uint64_t> at_once) noexcept = 0;
  virtual void after_fork() noexcept = 0;
  virtual void in_child() noexcept = 0;

 protected:
  static constexpr const char* k_full =
      "the spill file has no room for all data: what it does not take stays in memory";
  // To the user, with the folder and the reason.
  void say_once(bool& said, const char* sentence, int error) noexcept;

  Parts parts_;
};

// As `parts` say. Throws Error{failed} when the system lacks what it takes.
std::unique_ptr<SpillEngine> make_spill(const SpillEngine::Parts& parts);

}  // namespace terrace::transfer
