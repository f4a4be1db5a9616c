// Makes the steps of a warp of the logs of its lanes: lanes at the same position take part in one access, of
// different positions the lowest goes first (lane_log.hpp), and an access asks for the line parts that its lanes
// need, each once: the coalescing that every GPU since Fermi does.
//
// Instructions between two accesses are issued once for all lanes: the longest of them counts. So what lanes do on
// two sides of a branch counts twice only where both sides access memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu_sim/simt/lane_log.hpp"
#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

class WarpMerge {
 public:
  // A warp begins.
  void start();
  // Appends what the lanes did since their last barrier, and clears their logs.
  void add(std::span<LaneLog> lanes);
  void add_barrier();
  // Appends the warp to the CTA.
  void finish(Cta& cta);

 private:
  struct Head {
    const LaneAccess* next = nullptr;
    const LaneAccess* end = nullptr;
  };
  // The lanes whose next access is at the lowest position, as a mask.
  [[nodiscard]] std::uint32_t next_group() const;
  void add_access(std::uint32_t group, std::span<LaneLog> lanes);
  void add_uses(std::span<const LaneUse> uses, std::uint32_t lane);
  void emit_uses(std::uint32_t instructions);
  void gather_lines(std::uint32_t group, Step& step);

  std::array<Head, k_lanes> heads_;
  // By lane and number of its load, modulo: which of the warp's loads it is.
  std::array<std::array<std::uint32_t, LaneLog::k_remembered>, k_lanes> load_of_;
  std::vector<LaneUse> wanted_;  // of the step at hand, with the warp's numbers, in the order of their use
  std::vector<Step> steps_;
  std::vector<LinePart> lines_;
  std::uint32_t loads_ = 0;
  std::uint64_t waited_ = 0;
  std::uint32_t left_ = 0;  // instructions behind the last step
};

}  // namespace terrace::gpu_sim
