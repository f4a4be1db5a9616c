// SPDX-License-Identifier: Apache-2.0
// Detects sweeps: sequential passes through an object, chunk by chunk, upwards or downwards. Predicts the chunks
// that a sweep uses next, for EarlyMoveSelector. Input is the list of chunks that each segment of the program
// used.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/chunk_table.hpp"

namespace terrace::strategy {

class SweepDetector {
 public:
  static constexpr std::uint32_t k_gap_divisor = 4;  // gaps in a visit are at most 1/k_gap_divisor of its length

  struct Use {
    ChunkId chunk = 0;
    double gain = 0;             // seconds that its use in fast memory gains, or would gain
    std::uint32_t segments = 1;  // for how long it is used
  };
  // Records the chunks of the segment that has ended, in ascending order. Afterwards next() returns the chunks
  // that are used after the segment that begins now, each with the gain and length of its sweep's last complete
  // visit.
  void on_segment(std::span<const Use> uses, const memory::ChunkTable& chunks);
  [[nodiscard]] std::span<const Use> next() const { return next_; }
  // Returns whether the chunk was used in one of the last two segments. Long visits may have longer gaps, because
  // samples miss uses.
  [[nodiscard]] bool in_use(ChunkId chunk) const {
    return chunk < visits_.size() && visits_[chunk].last > 0 &&
           visits_[chunk].last + 1 + max_gap(visits_[chunk]) >= segment_;
  }

  // Returns the segment of the chunk's last use, counted from 1; 0: never.
  [[nodiscard]] std::uint32_t last_use(ChunkId chunk) const {
    return chunk < visits_.size() ? visits_[chunk].last : 0;
  }
  [[nodiscard]] std::uint32_t segment() const { return segment_; }

 private:
  struct Visit {             // uses of a chunk without long gaps
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
