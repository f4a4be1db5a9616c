// SweepDetector: where a program goes through an object chunk by chunk, up or down, the chunks that come next are known
// before they are used. Told of the chunks that each segment of the program used, segment by segment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/chunk_table.hpp"

namespace terrace::strategy {

class SweepDetector {
 public:
  static constexpr std::uint32_t k_gap_divisor = 4;  // in a chunk's use: no longer than one over that of it

  struct Use {
    ChunkId chunk = 0;
    double gain = 0;             // seconds that its use in fast memory gains, or would gain
    std::uint32_t segments = 1;  // for how long it is used
  };
  // The chunks of the segment that has ended, ascending. Afterwards next() has what is used after the segment that
  // begins now, each as the last chunk of its sweep was from its first use to its last.
  void on_segment(std::span<const Use> uses, const memory::ChunkTable& chunks);
  [[nodiscard]] std::span<const Use> next() const { return next_; }
  // Used in one of the last two segments; one that was for many, in one of some more: samples leave gaps.
  [[nodiscard]] bool in_use(ChunkId chunk) const {
    return chunk < visits_.size() && visits_[chunk].last > 0 &&
           visits_[chunk].last + 1 + max_gap(visits_[chunk]) >= segment_;
  }

  // Of segments, counted from 1; 0: never.
  [[nodiscard]] std::uint32_t last_use(ChunkId chunk) const {
    return chunk < visits_.size() ? visits_[chunk].last : 0;
  }
  [[nodiscard]] std::uint32_t segment() const { return segment_; }

 private:
  struct Visit {             // from a first use to a last one, without long lulls between
    std::uint32_t last = 0;  // segment, from 1 on; 0: never
    std::uint32_t first = 0;
    bool fresh = false;  // it began in the last segment
    double gain = 0;
  };
  static std::uint32_t max_gap(const Visit& visit) { return (visit.last - visit.first) / k_gap_divisor; }
  void follow(ChunkId first, ChunkId last, const memory::ChunkTable& chunks);
  void look_ahead(ChunkId head, int step, std::uint32_t rate, const memory::ChunkTable& chunks);
  [[nodiscard]] bool was_used_before(ChunkId chunk) const {
    return in_use(chunk) && (visits_[chunk].last < segment_ || !visits_[chunk].fresh);
  }

  std::vector<Visit> visits_;  // by chunk
  std::vector<Use> next_;
  std::uint32_t segment_ = 0;
};

}  // namespace terrace::strategy
