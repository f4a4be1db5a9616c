// SPDX-License-Identifier: Apache-2.0
// Implements the model of stream prefetchers for each thread's pipeline. See streams.hpp.
#include "observe/cache/streams.hpp"

#include <algorithm>
#include <bit>

namespace terrace::observe {

StreamPrefetcher::StreamPrefetcher(std::uint32_t streams)
    : num_streams_(std::max(streams, 1u)),
      streams_(num_streams_),
      used_(num_streams_, 0),
      buckets_(std::bit_ceil(2 * std::size_t{num_streams_}), k_none),
      bucket_shift_(64 - static_cast<unsigned>(std::countr_zero(buckets_.size()))),
      windows_(std::bit_ceil(k_windows * num_streams_)) {}

bool StreamPrefetcher::on_miss(std::uint64_t line) {
  ++now_;
  if (follow_stream(line)) return true;
  train(line);
  return false;
}

// Advances the stream that expects this line. Returns whether there is one.
bool StreamPrefetcher::follow_stream(std::uint64_t line) {
  for (std::uint32_t stream = find_expecting(line); stream != k_none; stream = find_expecting(line)) {
    if (!is_expired(stream)) {
      advance(stream, line);
      return true;
    }
    unlink(stream);
    streams_[stream].stride = 0;
    used_[stream] = 0;
  }
  const std::uint32_t stream = find_skipping(line);  // some of its lines were cached
  if (stream == k_none) return false;
  advance(stream, line);
  return true;
}

bool StreamPrefetcher::is_expired(std::uint32_t stream) const {
  return now_ - used_[stream] > num_streams_ * (streams_[stream].is_confirmed ? k_stream_life : k_new_stream_life);
}

std::uint32_t StreamPrefetcher::find_expecting(std::uint64_t line) const {
  std::uint32_t first = k_none;
  for (std::uint32_t i = bucket_of(line >> k_bucket_bits); i != k_none; i = streams_[i].next_in_bucket)
    if (streams_[i].next == line) first = std::min(first, i);
  return first;
}

std::uint32_t StreamPrefetcher::find_skipping(std::uint64_t line) const {
  const std::uint64_t piece = line >> k_bucket_bits;
  std::uint32_t first = k_none;
  for (const std::uint64_t near : {piece - 1, piece, piece + 1}) {
    for (std::uint32_t i = bucket_of(near); i != k_none; i = streams_[i].next_in_bucket) {
      const Stream& stream = streams_[i];
      const auto ahead = static_cast<std::int64_t>(line - stream.next);
      if (!stream.is_confirmed || (ahead < 0) != (stream.stride < 0) || ahead == 0) continue;
      if (ahead / stream.stride < k_max_skip && ahead % stream.stride == 0 && !is_expired(i))
        first = std::min(first, i);
    }
  }
  return first;
}

void StreamPrefetcher::advance(std::uint32_t stream, std::uint64_t line) {
  Stream& entry = streams_[stream];
  const std::uint64_t next = line + static_cast<std::uint64_t>(entry.stride);
  const bool same_bucket = next >> k_bucket_bits == entry.next >> k_bucket_bits;
  if (!same_bucket) unlink(stream);
  entry.next = next;
  if (!same_bucket) link(stream);
  used_[stream] = now_;
  entry.is_confirmed = true;
}

void StreamPrefetcher::link(std::uint32_t stream) {
  std::uint32_t& first = bucket_of(streams_[stream].next >> k_bucket_bits);
  streams_[stream].next_in_bucket = first;
  first = stream;
}

void StreamPrefetcher::unlink(std::uint32_t stream) {
  std::uint32_t* at = &bucket_of(streams_[stream].next >> k_bucket_bits);
  while (*at != stream) at = &streams_[*at].next_in_bucket;
  *at = streams_[stream].next_in_bucket;
}

// Records a miss outside of streams, and allocates a stream at the third line of equal distances in a window.
void StreamPrefetcher::train(std::uint64_t line) {
  ++untrained_;
  const std::uint64_t number = line >> k_window_bits;
  const auto at = static_cast<std::int64_t>(line & ((1u << k_window_bits) - 1));
  Window& window = windows_[(number ^ (number >> 8)) & (windows_.size() - 1)];
  if (window.number != number || untrained_ - window.touched > num_streams_ * k_window_life)
    window = {number, 0, 0};
  window.touched = untrained_;
  const std::uint64_t missed = window.missed;
  window.missed |= std::uint64_t{1} << at;
  if (std::popcount(missed) < 2) return;
  const auto was_missed = [missed](std::int64_t i) { return i >= 0 && i < 64 && ((missed >> i) & 1) != 0; };
  for (std::int64_t stride = 1; stride <= k_max_stride; ++stride) {
    for (const std::int64_t signed_stride : {stride, -stride}) {
      const std::int64_t before = at - signed_stride;
      const std::int64_t first = before - signed_stride;
      if (!was_missed(before) || !was_missed(first)) continue;
      // The three lines belong to a stream now and must not train another.
      window.missed &= ~(std::uint64_t{1} << at | std::uint64_t{1} << before | std::uint64_t{1} << first);
      allocate(line, signed_stride);
      return;
    }
  }
}

void StreamPrefetcher::allocate(std::uint64_t line, std::int64_t stride) {
  const auto victim = static_cast<std::uint32_t>(std::min_element(used_.begin(), used_.end()) - used_.begin());
  Stream& entry = streams_[victim];
  if (entry.stride != 0) unlink(victim);
  entry = {line + static_cast<std::uint64_t>(stride), stride, false, k_none};
  link(victim);
  used_[victim] = now_;
}

}  // namespace terrace::observe
