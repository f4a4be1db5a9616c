// See idle_bitmap.hpp.
#include "observe/pages/idle_bitmap.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace terrace::observe {

namespace {

constexpr std::uint64_t k_later_part = 1U << 16U;  // KPF_COMPOUND_TAIL
constexpr std::uint64_t k_max_parts = 1U << 18U;   // of the largest compound pages, of 1 GiB

}  // namespace

std::uint64_t Frames::flags_of(std::uint64_t frame) noexcept {
  const auto block = frame / std::size(words_);
  if (block != block_) {
    std::memset(words_, 0, sizeof words_);
    const auto got = syscall(SYS_pread64, flags_.file(), words_, sizeof words_, block * sizeof words_);
    block_ = got > 0 ? block : ~std::uint64_t{0};
  }
  return words_[frame % std::size(words_)];
}

std::uint64_t Frames::first_of(std::uint64_t frame) noexcept {
  const auto lowest = frame - std::min(frame, k_max_parts);
  auto first = frame;
  while (first > lowest && (flags_of(first) & k_later_part) != 0) --first;
  return first;
}

void IdleBitmap::mark(std::uint64_t frame) noexcept {
  const auto block = frame / k_frames_a_block;
  if (!marking_ || block != block_) {
    failed_ = !flush() || failed_;
    std::memset(words_, 0, sizeof words_);
    block_ = block;
    marking_ = true;
  }
  words_[frame % k_frames_a_block / 64] |= 1ULL << frame % 64;
}

bool IdleBitmap::flush() noexcept {
  bool well = !std::exchange(failed_, false);
  // What is not to be marked is not asked for: for each bit that is set the kernel looks for who maps the frame,
  // and it goes by whole words.
  for (std::size_t low = 0; marking_ && low < std::size(words_);) {
    if (words_[low] == 0) {
      ++low;
      continue;
    }
    auto high = low;
    while (high < std::size(words_) && words_[high] != 0) ++high;
    const auto size = (high - low) * sizeof *words_;
    const auto at = block_ * sizeof words_ + low * sizeof *words_;
    well = syscall(SYS_pwrite64, file_.file(), words_ + low, size, at) == static_cast<long>(size) && well;
    low = high;
  }
  marking_ = false;
  block_ = k_none;
  return well;
}

bool IdleBitmap::idle(std::uint64_t frame) noexcept {
  const auto block = frame / k_frames_a_block;
  if (marking_ || block != block_) {
    failed_ = !flush() || failed_;
    std::memset(words_, 0, sizeof words_);
    if (syscall(SYS_pread64, file_.file(), words_, sizeof words_, block * sizeof words_) > 0) block_ = block;
  }
  return (words_[frame % k_frames_a_block / 64] >> frame % 64 & 1) != 0;
}

}  // namespace terrace::observe
