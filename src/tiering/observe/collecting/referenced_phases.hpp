// What windows of page references say of phases: how fast each used each object, and what a phase comes to at that
// speed. A window may begin in one phase and end in another: each gets the part of what was used that its time is
// of the window. So phases are known the better the more often they come.
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

class ReferencedPhases {
 public:
  using ByObject = std::map<ObjectId, double>;  // bytes
  struct Overlap {                              // of a window with a phase
    std::string phase;
    double time;  // seconds
  };

  // Machine and table outlive it. `window`: seconds, for what a time sample would be. Throws Error{not_found} for
  // an initiator that the machine does not have.
  ReferencedPhases(const machine::Machine& machine, InitiatorId initiator, double cores,
                   const memory::ChunkTable& chunks, double window);

  // What was used in a window, and the phases in which that was.
  void add(std::span<const Overlap> overlaps, const ByObject& used);
  void forget() { known_.clear(); }
  // The chunks of each object that live now.
  struct Live {
    double size = 0;  // bytes
    std::vector<ChunkId> chunks;
  };
  using LiveByObject = std::map<ObjectId, Live>;
  [[nodiscard]] LiveByObject live() const;
  // Cells and core time of a phase that took so many seconds, as fast as it was used in windows: lines of an
  // object are shared evenly by its chunks. A phase that no window met counts as the average of those that were.
  // Nobody knows how pages were used: all lines count as prefetched, none as written.
  void write(double time, const LiveByObject& live, Phase& phase) const;

 private:
  struct Used {  // of all windows that met a phase
    double time = 0;
    ByObject bytes, squares;
    void add(const Used& other);
  };
  [[nodiscard]] const Used* find(std::string_view phase) const;
  [[nodiscard]] Used of_all() const;

  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double window_;
  double streamed_;                                 // latencies that a prefetched line exposes
  double line_;                                     // bytes
  std::map<std::string, Used, std::less<>> known_;  // by phase
};

}  // namespace terrace::observe
