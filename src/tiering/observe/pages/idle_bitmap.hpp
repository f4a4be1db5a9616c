// The kernel's marks of idle pages (Documentation/admin-guide/mm/idle_page_tracking.rst): a bit for each page
// frame. Written 1, a frame counts as idle until it is used; bits that are written 0 stay as they are. Of a
// compound page the first frame alone has a bit.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/pages/pagemap.hpp"

namespace terrace::observe {

// Where the kernel says these things; a test has files of its own.
struct FramePaths {
  const char* bitmap = "/sys/kernel/mm/page_idle/bitmap";
  const char* pagemap = "/proc/self/pagemap";
  const char* flags = "/proc/kpageflags";
};

// The frames that hold a range's pages: that of each page that is there, for a part of a compound page its first.
class Frames {
 public:
  explicit Frames(const FramePaths& paths) noexcept
      : pagemap_(paths.pagemap, O_RDONLY), flags_(paths.flags, O_RDONLY) {}
  [[nodiscard]] bool open() const noexcept { return pagemap_.file() >= 0 && flags_.file() >= 0; }
  // Calls each(frame) for every page of the range that is there. False where this cannot be known.
  template <class Each>
  bool of(const WatchedRange& range, std::uint64_t page, Each each) {
    bool known = true;
    const bool read = for_each_page(pagemap_, range, page, [&](std::uint64_t, std::uint64_t word) {
      if ((word & k_page_present) == 0) return;
      const auto frame = word & k_page_frame;
      known = known && frame != 0;
      if (known) each(first_of(frame));
    });
    return read && known;
  }

 private:
  std::uint64_t first_of(std::uint64_t frame) noexcept;
  std::uint64_t flags_of(std::uint64_t frame) noexcept;

  OpenFile pagemap_, flags_;
  std::uint64_t block_ = ~std::uint64_t{0};  // of flags: those of 512 frames
  std::uint64_t words_[512] = {};
};

class IdleBitmap {
 public:
  explicit IdleBitmap(const char* path) noexcept : file_(path, O_RDWR) {}
  [[nodiscard]] bool open() const noexcept { return file_.file() >= 0; }
  // Marks a frame; the mark is made when a frame of another block follows, or by `flush`.
  void mark(std::uint64_t frame) noexcept;
  bool flush() noexcept;  // false where a mark could not be made since the last one
  [[nodiscard]] bool idle(std::uint64_t frame) noexcept;

 private:
  static constexpr std::uint64_t k_frames_a_block = 64 * 64;
  static constexpr std::uint64_t k_none = ~std::uint64_t{0};

  OpenFile file_;
  std::uint64_t block_ = k_none;
  std::uint64_t words_[64] = {};
  bool marking_ = false, failed_ = false;
};

}  // namespace terrace::observe
