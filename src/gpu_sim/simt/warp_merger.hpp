// SPDX-License-Identifier: Apache-2.0
// Merges the logs of a warp's lanes into the steps of the warp, for Device. Lanes at the same position take part
// in one access, and the lowest position goes first (lane_log.hpp). An access requests the line parts that its
// lanes need, each once (coalescing, as on every GPU since Fermi).
//
// Instructions between two accesses are issued once for all lanes: the longest sequence counts. So both sides of a
// branch count only if both access memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu_sim/simt/lane_log.hpp"
#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

class WarpMerger {
 public:
  // Begins a warp.
  void start();
  // Appends what the lanes did since their last barrier, and clears their logs.
  void add(std::span<LaneLog> lanes);
  void add_barrier();
  // Appends the warp to the CTA.
  void finish(Cta& cta);

 private:
  struct LaneCursor {
    const LaneAccess* next = nullptr;
    const LaneAccess* end = nullptr;
  };
  // Returns the lanes whose next access is at the lowest position, as a mask.
  [[nodiscard]] std::uint32_t next_group() const;
  void add_access(std::uint32_t group, std::span<LaneLog> lanes);
  void add_uses(std::span<const LaneUse> uses, std::uint32_t lane);
  void emit_uses(std::uint32_t instructions);
  void gather_lines(std::uint32_t group, Step& step);

  std::array<LaneCursor, k_lanes> heads_;
  // Number of the warp's load, by lane and by number of the lane's load, modulo.
  std::array<std::array<std::uint32_t, LaneLog::k_max_tracked_loads>, k_lanes> load_of_;
  std::vector<LaneUse> pending_uses_;  // of the current step, with the warp's load numbers, in the order of use
  std::vector<Step> steps_;
  std::vector<LinePart> lines_;
  std::uint32_t loads_ = 0;
  std::uint64_t waited_ = 0;
  std::uint32_t left_ = 0;  // instructions after the last step
};

}  // namespace terrace::gpu_sim
