// The stream prefetchers. They see the lines that miss the last level and say which of them a prefetcher would
// have fetched before they were asked for.
//
// Streams train before they are allocated in the table, else random misses pollute it: misses that belong to no
// stream are kept as one bit a line in the window (64 lines, a page of 4 KiB) that they fall into. A stream is
// born when three lines at equal distances, ascending or descending, missed in one window; from the fourth on its
// lines are prefetched. It may run on over window ends and, once it has been followed, may skip a few of its lines
// (they were cached). A stream that nobody follows is forgotten, soon if it never was: it was three lines by
// chance.
#pragma once

#include <array>
#include <cstdint>

namespace terrace::observe {

inline constexpr std::uint32_t k_streams = 16;
inline constexpr std::int64_t k_longest_stride = 16;  // lines

class Streams {
 public:
  // The line missed. True when a stream had it coming.
  bool miss(std::uint64_t line);

 private:
  static constexpr std::uint32_t k_windows = 256;
  static constexpr unsigned k_window_bits = 6;
  static constexpr std::int64_t k_skips = 8;            // lines of a stream that may be missing, plus one
  static constexpr std::uint64_t k_window_life = 128;   // untrained misses after which a window is forgotten
  static constexpr std::uint64_t k_stream_life = 4096;  // misses
  static constexpr std::uint64_t k_new_stream_life = 256;

  struct Window {
    std::uint64_t number = 0;
    std::uint64_t missed = 0;  // bit i: line i of the window
    std::uint64_t touched = 0;
  };

  bool follow(std::uint64_t line);
  void advance(std::uint32_t stream, std::uint64_t line);
  void train(std::uint64_t line);
  void allocate(std::uint64_t line, std::int64_t stride);

  // The table; apart, so that looking for the next line is a scan of one array.
  std::array<std::uint64_t, k_streams> next_{};
  std::array<std::int64_t, k_streams> stride_{};  // 0: free
  std::array<std::uint64_t, k_streams> used_{};
  std::array<bool, k_streams> followed_{};
  std::uint64_t now_ = 0;
  std::uint64_t untrained_ = 0;
  std::array<Window, k_windows> windows_{};
};

}  // namespace terrace::observe
