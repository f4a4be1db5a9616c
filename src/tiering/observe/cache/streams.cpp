#include "observe/cache/streams.hpp"

#include <algorithm>
#include <bit>

namespace terrace::observe {

Streams::Streams(std::uint32_t streams)
    : count_(std::max(streams, 1u)),
      streams_(count_),
      used_(count_, 0),
      lists_(std::bit_ceil(2 * std::size_t{count_}), k_none),
      list_shift_(64 - static_cast<unsigned>(std::countr_zero(lists_.size()))),
      windows_(std::bit_ceil(k_windows * count_)) {}

bool Streams::miss(std::uint64_t line) {
  ++now_;
  if (trace_access(line)) return true;
  train(line);
  return false;
}

bool Streams::follow(std::uint64_t line) {
  for (std::uint32_t stream = expecting(line); stream != k_none; stream = expecting(line)) {
    if (!forgotten(stream)) {
      advance(stream, line);
      return true;
    }
    unlink(stream);
    streams_[stream].stride = 0;
    used_[stream] = 0;
  }
  const std::uint32_t stream = skipping_to(line);  // some of its lines were cached
  if (stream == k_none) return false;
  advance(stream, line);
  return true;
}

bool Streams::forgotten(std::uint32_t stream) const {
  return now_ - used_[stream] > count_ * (streams_[stream].followed ? k_stream_life : k_new_stream_life);
}

std::uint32_t Streams::expecting(std::uint64_t line) const {
  std::uint32_t first = k_none;
  for (std::uint32_t i = list_of(line >> k_piece_bits); i != k_none; i = streams_[i].behind)
    if (streams_[i].next == line) first = std::min(first, i);
  return first;
}

std::uint32_t Streams::skipping_to(std::uint64_t line) const {
  const std::uint64_t piece = line >> k_piece_bits;
  std::uint32_t first = k_none;
  for (const std::uint64_t near : {piece - 1, piece, piece + 1}) {
    for (std::uint32_t i = list_of(near); i != k_none; i = streams_[i].behind) {
      const Stream& stream = streams_[i];
      const auto ahead = static_cast<std::int64_t>(line - stream.next);
      if (!stream.followed || (ahead < 0) != (stream.stride < 0) || ahead == 0) continue;
      if (ahead / stream.stride < k_skips && ahead % stream.stride == 0 && !forgotten(i))
        first = std::min(first, i);
    }
  }
  return first;
}

void Streams::advance(std::uint32_t stream, std::uint64_t line) {
  Stream& entry = streams_[stream];
  const std::uint64_t next = line + static_cast<std::uint64_t>(entry.stride);
  const bool stays = next >> k_piece_bits == entry.next >> k_piece_bits;
  if (!stays) unlink(stream);
  entry.next = next;
  if (!stays) link(stream);
  used_[stream] = now_;
  entry.followed = true;
}

void Streams::link(std::uint32_t stream) {
  std::uint32_t& first = list_of(streams_[stream].next >> k_piece_bits);
  streams_[stream].behind = first;
  first = stream;
}

void Streams::unlink(std::uint32_t stream) {
  std::uint32_t* at = &list_of(streams_[stream].next >> k_piece_bits);
  while (*at != stream) at = &streams_[*at].behind;
  *at = streams_[stream].behind;
}

void Streams::train(std::uint64_t line) {
  ++untrained_;
  const std::uint64_t number = line >> k_window_bits;
  const auto at = static_cast<std::int64_t>(line & ((1u << k_window_bits) - 1));
  Window& window = windows_[(number ^ (number >> 8)) & (windows_.size() - 1)];
  if (window.number != number || untrained_ - window.touched > count_ * k_window_life) window = {number, 0, 0};
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
  const auto victim = static_cast<std::uint32_t>(std::min_element(used_.begin(), used_.end()) - used_.begin());
  Stream& entry = streams_[victim];
  if (entry.stride != 0) unlink(victim);
  entry = {line + static_cast<std::uint64_t>(stride), stride, false, k_none};
  link(victim);
  used_[victim] = now_;
}

}  // namespace terrace::observe
