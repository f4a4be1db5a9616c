// SPDX-License-Identifier: Apache-2.0
// Reads and writes the kernel's bitmap of idle page frames, for the page watch `idle-page`. See idle_bitmap.hpp.
#include "observe/pages/idle_bitmap.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace terrace::observe {

namespace {

constexpr std::uint64_t k_compound_tail = 1U << 16U;        // KPF_COMPOUND_TAIL
constexpr std::uint64_t k_max_compound_frames = 1U << 18U;  // of the largest compound page, 1 GiB

}  // namespace

// Returns the frame's flags in /proc/kpageflags, read in blocks of 512 frames.
std::uint64_t PageFrames::flags_of(std::uint64_t frame) noexcept {
  const auto block = frame / std::size(words_);
  if (block != block_) {
    std::memset(words_, 0, sizeof words_);
    const auto got = syscall(SYS_pread64, flags_.fd(), words_, sizeof words_, block * sizeof words_);
    block_ = got > 0 ? block : ~std::uint64_t{0};
  }
  return words_[frame % std::size(words_)];
}

// Returns the first frame of the compound page with this frame; the frame itself if it is in none.
std::uint64_t PageFrames::head_of(std::uint64_t frame) noexcept {
  const auto lowest = frame - std::min(frame, k_max_compound_frames);
  auto first = frame;
  while (first > lowest && (flags_of(first) & k_compound_tail) != 0) --first;
  return first;
}

void IdleBitmap::set_idle(std::uint64_t frame) noexcept {
  const auto block = frame / k_frames_per_block;
  if (!has_pending_ || block != block_) {
    failed_ = !flush() || failed_;
    std::memset(words_, 0, sizeof words_);
    block_ = block;
    has_pending_ = true;
  }
  words_[frame % k_frames_per_block / 64] |= 1ULL << frame % 64;
}

bool IdleBitmap::flush() noexcept {
  bool well = !std::exchange(failed_, false);
  // Write only words with bits: for each set bit the kernel searches the mappings of the frame.
  for (std::size_t low = 0; has_pending_ && low < std::size(words_);) {
    if (words_[low] == 0) {
      ++low;
      continue;
    }
    auto high = low;
    while (high < std::size(words_) && words_[high] != 0) ++high;
    const auto size = (high - low) * sizeof *words_;
    const auto at = block_ * sizeof words_ + low * sizeof *words_;
    well = syscall(SYS_pwrite64, file_.fd(), words_ + low, size, at) == static_cast<long>(size) && well;
    low = high;
  }
  has_pending_ = false;
  block_ = k_none;
  return well;
}

// Returns the frame's bit. The buffer holds one block of the bitmap: bits to be written are flushed before it is
// reused.
bool IdleBitmap::is_idle(std::uint64_t frame) noexcept {
  const auto block = frame / k_frames_per_block;
  if (has_pending_ || block != block_) {
    failed_ = !flush() || failed_;
    std::memset(words_, 0, sizeof words_);
    if (syscall(SYS_pread64, file_.fd(), words_, sizeof words_, block * sizeof words_) > 0) block_ = block;
  }
  return (words_[frame % k_frames_per_block / 64] >> frame % 64 & 1) != 0;
}

}  // namespace terrace::observe
