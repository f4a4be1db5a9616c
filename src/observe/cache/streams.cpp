#include "observe/cache/streams.hpp"

#include <bit>

namespace terrace::observe {

bool Streams::miss(std::uint64_t line) {
  ++now_;
  if (follow(line)) return true;
  train(line);
  return false;
}

bool Streams::follow(std::uint64_t line) {
  for (std::uint32_t i = 0; i < k_streams; ++i) {
    if (next_[i] != line || stride_[i] == 0) continue;
    const bool forgotten = now_ - used_[i] > (followed_[i] ? k_stream_life : k_new_stream_life);
    if (forgotten) {
      stride_[i] = 0;
      used_[i] = 0;
      continue;
    }
    advance(i, line);
    return true;
  }
  for (std::uint32_t i = 0; i < k_streams; ++i) {  // some of its lines were cached
    const std::int64_t stride = stride_[i];
    const auto ahead = static_cast<std::int64_t>(line - next_[i]);
    if (stride == 0 || !followed_[i] || (ahead < 0) != (stride < 0) || ahead == 0) continue;
    if (now_ - used_[i] <= k_stream_life && ahead / stride < k_skips && ahead % stride == 0) {
      advance(i, line);
      return true;
    }
  }
  return false;
}

void Streams::advance(std::uint32_t stream, std::uint64_t line) {
  next_[stream] = line + static_cast<std::uint64_t>(stride_[stream]);
  used_[stream] = now_;
  followed_[stream] = true;
}

void Streams::train(std::uint64_t line) {
  ++untrained_;
  const std::uint64_t number = line >> k_window_bits;
  const auto at = static_cast<std::int64_t>(line & ((1u << k_window_bits) - 1));
  Window& window = windows_[(number ^ (number >> 8)) % k_windows];
  if (window.number != number || untrained_ - window.touched > k_window_life) window = {number, 0, 0};
  window.touched = untrained_;
  const std::uint64_t missed = window.missed;
  window.missed |= std::uint64_t{1} << at;
  if (std::popcount(missed) < 2) return;
  const auto was_missed = [missed](std::int64_t i) { return i >= 0 && i < 64 && ((missed >> i) & 1) != 0; };
  for (std::int64_t stride = 1; stride <= k_longest_stride; ++stride) {
    for (const std::int64_t signed_stride : {stride, -stride}) {
      const std::int64_t before = at - signed_stride;
      const std::int64_t first = before - signed_stride;
      if (!was_missed(before) || !was_missed(first)) continue;
      // The three are a stream's now: they must not train another.
      window.missed &= ~(std::uint64_t{1} << at | std::uint64_t{1} << before | std::uint64_t{1} << first);
      allocate(line, signed_stride);
      return;
    }
  }
}

void Streams::allocate(std::uint64_t line, std::int64_t stride) {
  std::uint32_t victim = 0;
  for (std::uint32_t i = 1; i < k_streams; ++i) {
    if (used_[i] < used_[victim]) victim = i;
  }
  next_[victim] = line + static_cast<std::uint64_t>(stride);
  stride_[victim] = stride;
  used_[victim] = now_;
  followed_[victim] = false;
}

}  // namespace terrace::observe
