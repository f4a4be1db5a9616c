// SPDX-License-Identifier: Apache-2.0
// Accesses, for the page watch `idle-page`, the kernel's bitmap of idle page frames
// (Documentation/admin-guide/mm/idle_page_tracking.rst). Writing 1 sets a frame idle until it is used; writing 0
// has no effect. Only the head frame of a compound page has a bit.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/pages/pagemap.hpp"

namespace terrace::observe {

// Paths of the kernel's files; tests use files of their own.
struct FramePaths {
  const char* bitmap = "/sys/kernel/mm/page_idle/bitmap";
  const char* pagemap = "/proc/self/pagemap";
  const char* flags = "/proc/kpageflags";
};

// Finds the frames of a range's resident pages; for a page within a compound page its head frame.
class PageFrames {
 public:
  explicit PageFrames(const FramePaths& paths) noexcept
      : pagemap_(paths.pagemap, O_RDONLY), flags_(paths.flags, O_RDONLY) {}
  [[nodiscard]] bool is_open() const noexcept { return pagemap_.fd() >= 0 && flags_.fd() >= 0; }
  // Calls each(frame) for every resident page of the range. Returns false where frames cannot be read.
  template <class Each>
  bool for_each(const WatchedRange& range, std::uint64_t page, Each each) {
    bool known = true;
    const bool read = for_each_page(pagemap_, range, page, [&](std::uint64_t, std::uint64_t word) {
      if ((word & k_page_present) == 0) return;
      const auto frame = word & k_page_frame;
      known = known && frame != 0;
      if (known) each(head_of(frame));
    });
    return read && known;
  }

 private:
  std::uint64_t head_of(std::uint64_t frame) noexcept;
  std::uint64_t flags_of(std::uint64_t frame) noexcept;

  OpenFile pagemap_, flags_;
  std::uint64_t block_ = ~std::uint64_t{0};  // of words_: flags of 512 frames
  std::uint64_t words_[512] = {};
};

class IdleBitmap {
 public:
  explicit IdleBitmap(const char* path) noexcept : file_(path, O_RDWR) {}
  [[nodiscard]] bool is_open() const noexcept { return file_.fd() >= 0; }
  // Sets a frame idle. Buffered: written when a frame of another block follows, or by `flush`.
  void set_idle(std::uint64_t frame) noexcept;
  bool flush() noexcept;  // returns false where a write has failed since the last flush
  [[nodiscard]] bool is_idle(std::uint64_t frame) noexcept;

 private:
  static constexpr std::uint64_t k_frames_per_block = 64 * 64;
  static constexpr std::uint64_t k_none = ~std::uint64_t{0};

  OpenFile file_;
  std::uint64_t block_ = k_none;
  std::uint64_t words_[64] = {};
  bool has_pending_ = false, failed_ = false;
};

}  // namespace terrace::observe
