// SPDX-License-Identifier: Apache-2.0
// Estimates how many bytes of each object a phase uses per second, and from that the cells (traffic by chunk) of a
// phase. Its input are windows: intervals after which the pages are known that were used in them. Used by the
// collectors that observe pages only, in virtual time (page_references_collector.hpp) and on real memory
// (watched_pages_collector.hpp). A window may overlap several phases: each is attributed a share of the window's
// bytes in proportion to its time. The estimate of a phase improves with its number of instances.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "observe/counts.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

class PhaseUseEstimator {
 public:
  using ByObject = std::map<ObjectId, double>;  // bytes
  struct Overlap {                              // of a window with a phase
    std::string phase;
    double time;  // seconds
  };

  // Machine and table outlive the estimator. `window`: in seconds; stands for the interval of time samples. Throws
  // Error{not_found} for an initiator that the machine does not have.
  PhaseUseEstimator(const machine::Machine& machine, InitiatorId initiator, double cores,
                    const memory::ChunkTable& chunks, double window);

  // Adds a window: its overlaps with phases, and the bytes used in it.
  void add(std::span<const Overlap> overlaps, const ByObject& used);
  void clear() { uses_.clear(); }
  // The live chunks of an object.
  struct Live {
    double size = 0;  // bytes
    std::vector<ChunkId> chunks;
  };
  using LiveByObject = std::map<ObjectId, Live>;
  [[nodiscard]] LiveByObject live() const;
  // Writes the cells and the core time of a phase that took `time` seconds. The lines of an object are distributed
  // evenly over its chunks. A phase without a window counts as the average of all windows. The kind of accesses is
  // unknown: all lines count as prefetched, none as written.
  void write(double time, const LiveByObject& live, Phase& phase) const;

 private:
  struct PhaseUse {  // in all windows that overlap a phase
    double time = 0;
    ByObject bytes, squares;
    void add(const PhaseUse& other);
  };
  [[nodiscard]] const PhaseUse* find(std::string_view phase) const;
  [[nodiscard]] PhaseUse total_use() const;

  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double window_;
  double streamed_;                                    // latencies that a prefetched line exposes
  double line_;                                        // bytes
  std::map<std::string, PhaseUse, std::less<>> uses_;  // by phase
};

}  // namespace terrace::observe
