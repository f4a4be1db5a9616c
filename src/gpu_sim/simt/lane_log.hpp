// SPDX-License-Identifier: Apache-2.0
// Logs what one lane of a warp did since its last barrier: its accesses to global memory with their positions in
// the program, the instructions in between, and the loads whose results it used. Device logs each lane of a kernel
// so; WarpMerger merges the 32 logs of a warp into steps.
//
// A position orders the accesses of diverged lanes. It holds, for each enclosing loop, the loop's place in the
// source and its iteration, then the access's own place. Lanes with equal positions take part in one access; the
// lowest position goes first. So lanes reconverge after branches and loops, as on a GPU that reconverges at the
// immediate post-dominator.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <vector>

#include "core/error.hpp"
#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

inline constexpr std::size_t k_max_nested = 5;  // loops and calls that enclose an access

// Returns a place in the source as a number that increases with line and column.
inline std::uint32_t place_of(const std::source_location& where) {
  return (static_cast<std::uint32_t>(where.line()) << 10) | (static_cast<std::uint32_t>(where.column()) & 1023);
}

class Position {
 public:
  void enter(std::uint32_t place) {
    if (depth_ == k_max_nested)
      throw Error(Code::invalid, "line " + std::to_string(place >> 10) +
                                     " of a kernel: more than 5 loops and calls are nested; nest fewer");
    parts_[depth_++] = std::uint64_t{place} << 32;
  }
  void leave() { parts_[--depth_] = 0; }
  void next_iteration() { ++parts_[depth_ - 1]; }
  [[nodiscard]] Position at(std::uint32_t place) const {
    auto position = *this;
    position.parts_[depth_] = std::uint64_t{place} << 32;
    return position;
  }
  friend bool operator==(const Position& a, const Position& b) { return a.parts_ == b.parts_; }
  friend bool operator<(const Position& a, const Position& b) { return a.parts_ < b.parts_; }

 private:
  std::array<std::uint64_t, k_max_nested + 1> parts_{};
  std::size_t depth_ = 0;
};

struct LaneAccess {
  Position position;
  std::uint64_t address = 0;
  std::uint32_t instructions = 0;  // since the previous access
  std::uint32_t first_use = 0;     // in LaneLog::uses; they end where those of the next access begin
  std::uint32_t load = 0;          // its number, if it returns a value
  std::uint8_t bytes = 0;
  StepKind kind = StepKind::load;
};

struct LaneUse {
  std::uint32_t instructions = 0;  // since the previous access
  std::uint32_t load = 0;
};

class LaneLog {
 public:
  // Counts instructions without global memory.
  void count(std::uint32_t instructions) { instructions_ += instructions; }
  // Notes that the result of a load is needed; 0: no load.
  void use(std::uint32_t load) {
    if (load == 0 || load + k_max_tracked_loads <= loads_) return;
    const auto bit = std::uint64_t{1} << (load % k_max_tracked_loads);
    if ((waited_ & bit) != 0) return;
    waited_ |= bit;
    uses_.push_back({instructions_, load});
  }
  // Logs an access. Returns the number of the load, or 0 for a store.
  std::uint32_t access(StepKind kind, std::uint64_t address, std::uint8_t bytes, std::uint32_t place) {
    auto& entry = accesses_.emplace_back();
    entry.position = position_.at(place);
    entry.address = address;
    entry.instructions = instructions_;
    entry.first_use = first_use_;
    entry.bytes = bytes;
    entry.kind = kind;
    instructions_ = 0;
    first_use_ = static_cast<std::uint32_t>(uses_.size());
    if (!returns_value(kind)) return 0;
    entry.load = ++loads_;
    waited_ &= ~(std::uint64_t{1} << (loads_ % k_max_tracked_loads));
    return loads_;
  }
  [[nodiscard]] Position& position() { return position_; }

  [[nodiscard]] const std::vector<LaneAccess>& accesses() const { return accesses_; }
  [[nodiscard]] const std::vector<LaneUse>& uses() const { return uses_; }
  // After the last access:
  [[nodiscard]] std::uint32_t instructions_left() const { return instructions_; }
  [[nodiscard]] std::uint32_t first_use_left() const { return first_use_; }
  // Clears the log after it was merged; loads keep their numbers.
  void clear() {
    accesses_.clear();
    uses_.clear();
    instructions_ = first_use_ = 0;
  }
  // Resets the log for another thread.
  void restart() {
    clear();
    position_ = {};
    loads_ = 0;
    waited_ = 0;
  }

  static constexpr auto k_max_tracked_loads = k_max_loads_back;

 private:
  std::vector<LaneAccess> accesses_;
  std::vector<LaneUse> uses_;
  Position position_;
  std::uint32_t instructions_ = 0;  // since the last access
  std::uint32_t first_use_ = 0;
  std::uint32_t loads_ = 0;
  std::uint64_t waited_ = 0;  // loads already waited for, by number modulo 64
};

}  // namespace terrace::gpu_sim
