// The stream prefetchers. They see the lines that miss the last level and say which of them a prefetcher would
// have fetched before they were asked for.
//
// Streams train before they are allocated in the table, else random misses pollute it: misses that belong to no
// stream are kept as one bit a line in the window (64 lines, a page of 4 KiB) that they fall into. A stream is
// born when three lines at equal distances, ascending or descending, missed in one window; from the fourth on its
// lines are prefetched. It may run on over window ends and, once it has been followed, may skip a few of its lines
// (they were cached). A stream that nobody follows is forgotten, soon if it never was: it was three lines by
// chance.
//
// How many streams are followed at a time is the machine's. As many misses of others may lie between two lines of
// one, so windows and lives are in proportion to it.
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::observe {

inline constexpr std::int64_t k_longest_stride = 16;  // lines

class Streams {
 public:
  explicit Streams(std::uint32_t streams);

  // The line missed. True when a stream had it coming.
  bool miss(std::uint64_t line);

 private:
  static constexpr unsigned k_window_bits = 6;
  static constexpr std::int64_t k_skips = 8;  // lines of a stream that may be missing, plus one
  // The next lines of streams are looked up by where they are, in pieces that no skip reaches over.
  static constexpr unsigned k_piece_bits = 7;
  static_assert((std::int64_t{1} << k_piece_bits) >= k_longest_stride * (k_skips - 1));
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};
  // For each stream:
  static constexpr std::uint64_t k_windows = 16;
  static constexpr std::uint64_t k_window_life = 8;    // untrained misses after which a window is forgotten
  static constexpr std::uint64_t k_stream_life = 256;  // misses
  static constexpr std::uint64_t k_new_stream_life = 16;

  struct Window {
    std::uint64_t number = 0;
    std::uint64_t missed = 0;  // bit i: line i of the window
    std::uint64_t touched = 0;
  };

  bool trace_access(std::uint64_t line);
  void advance(std::uint32_t stream, std::uint64_t line);
  void train(std::uint64_t line);
  void allocate(std::uint64_t line, std::int64_t stride);
  [[nodiscard]] bool forgotten(std::uint32_t stream) const;
  // The first stream in order whose next line is that one; k_none for none.
  [[nodiscard]] std::uint32_t expecting(std::uint64_t line) const;
  // The first one that skipped lines before it.
  [[nodiscard]] std::uint32_t skipping_to(std::uint64_t line) const;
  void link(std::uint32_t stream);
  void unlink(std::uint32_t stream);
  [[nodiscard]] std::uint32_t& list_of(std::uint64_t piece) {
    return lists_[(piece * 0x9E3779B97F4A7C15u) >> list_shift_];
  }
  [[nodiscard]] std::uint32_t list_of(std::uint64_t piece) const {
    return lists_[(piece * 0x9E3779B97F4A7C15u) >> list_shift_];
  }

  struct Stream {
    std::uint64_t next = 0;
    std::int64_t stride = 0;  // 0: free
    bool followed = false;
    std::uint32_t behind = k_none;  // in its list
  };
  std::uint32_t count_;
  std::vector<Stream> streams_;
  std::vector<std::uint64_t> used_;   // apart: who was used least recently is a scan of one array
  std::vector<std::uint32_t> lists_;  // by piece: the first of the streams whose next lines are in it
  unsigned list_shift_;
  std::uint64_t now_ = 0;
  std::uint64_t untrained_ = 0;
  std::vector<Window> windows_;
};

}  // namespace terrace::observe
