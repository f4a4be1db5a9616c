// SPDX-License-Identifier: Apache-2.0
// Models the stream prefetchers for a thread's pipeline: decides for each line that misses the last-level cache
// whether a prefetcher would have fetched it before the demand access.
//
// Streams train before they are allocated in the table, else random misses would pollute it: misses that belong to
// no stream set one bit a line in their window (64 lines, a page of 4 KiB). A stream is allocated when three lines
// at equal distances, ascending or descending, missed in one window; its lines are prefetched from the fourth on.
// It may cross window boundaries and, once confirmed by a fourth line, may skip a few lines (which were cached). A
// stream without further misses expires, an unconfirmed one soon: its three lines may be chance.
//
// The number of streams is a property of the machine. Between two lines of a stream there may be misses of all
// others, so the number of windows and the lifetimes are proportional to it.
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::observe {

inline constexpr std::int64_t k_max_stride = 16;  // lines

class StreamPrefetcher {
 public:
  explicit StreamPrefetcher(std::uint32_t streams);

  // Handles a miss of the line. Returns whether a stream prefetched it.
  bool on_miss(std::uint64_t line);

 private:
  static constexpr unsigned k_window_bits = 6;
  static constexpr std::int64_t k_max_skip = 8;  // lines of a stream that it may skip, plus one
  // A hash table finds streams by their next line. Its buckets are ranges of lines that no skip reaches across.
  static constexpr unsigned k_bucket_bits = 7;
  static_assert((std::int64_t{1} << k_bucket_bits) >= k_max_stride * (k_max_skip - 1));
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};
  // For each stream:
  static constexpr std::uint64_t k_windows = 16;
  static constexpr std::uint64_t k_window_life = 8;    // misses outside of streams after which a window expires
  static constexpr std::uint64_t k_stream_life = 256;  // misses
  static constexpr std::uint64_t k_new_stream_life = 16;

  struct Window {
    std::uint64_t number = 0;
    std::uint64_t missed = 0;  // bit i: line i of the window
    std::uint64_t touched = 0;
  };

  bool follow_stream(std::uint64_t line);
  void advance(std::uint32_t stream, std::uint64_t line);
  void train(std::uint64_t line);
  void allocate(std::uint64_t line, std::int64_t stride);
  [[nodiscard]] bool is_expired(std::uint32_t stream) const;
  // Returns the first stream, by index, whose next line is this one; k_none: none.
  [[nodiscard]] std::uint32_t find_expecting(std::uint64_t line) const;
  // Returns the first stream that reaches this line by a skip; k_none: none.
  [[nodiscard]] std::uint32_t find_skipping(std::uint64_t line) const;
  void link(std::uint32_t stream);
  void unlink(std::uint32_t stream);
  [[nodiscard]] std::uint32_t& bucket_of(std::uint64_t piece) {
    return buckets_[(piece * 0x9E3779B97F4A7C15u) >> bucket_shift_];
  }
  [[nodiscard]] std::uint32_t bucket_of(std::uint64_t piece) const {
    return buckets_[(piece * 0x9E3779B97F4A7C15u) >> bucket_shift_];
  }

  struct Stream {
    std::uint64_t next = 0;
    std::int64_t stride = 0;  // 0: free
    bool is_confirmed = false;
    std::uint32_t next_in_bucket = k_none;  // of the same bucket
  };
  std::uint32_t num_streams_;
  std::vector<Stream> streams_;
  std::vector<std::uint64_t>
      used_;  // by stream: time of the last use; separate, so that the search for the oldest scans one array
  std::vector<std::uint32_t> buckets_;  // hash table: the first stream of each bucket
  unsigned bucket_shift_;
  std::uint64_t now_ = 0;
  std::uint64_t untrained_ = 0;
  std::vector<Window> windows_;
};

}  // namespace terrace::observe
