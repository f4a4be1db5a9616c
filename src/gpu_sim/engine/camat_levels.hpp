// C-AMAT's counters of a GPU: of each SM's L1 cache, by warps and by line parts, of each slice of the L2 cache and
// of each channel of DRAM; of the whole run, and of its parts: kernel by kernel, or every so many cycles.
//
// A part's counters are the difference of two snapshots, so those of all parts add up to the run's, as integers.
// What spans the end of a part is counted as camat.hpp says: cycles where they pass, accesses where they begin.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "model/camat/camat.hpp"

namespace terrace::gpu_sim {

struct CamatLevels {
  std::vector<model::CamatCounters> l1_by_warp;  // by SM
  std::vector<model::CamatCounters> l1_by_part;  // by SM
  std::vector<model::CamatCounters> l2;          // by channel
  std::vector<model::CamatCounters> dram;        // by channel

  // Of the same GPU, earlier.
  CamatLevels operator-(const CamatLevels& earlier) const;
  CamatLevels& operator+=(const CamatLevels& other);
  bool operator==(const CamatLevels&) const = default;
};

// Of all caches of a level.
[[nodiscard]] model::CamatCounters camat_sum(const std::vector<model::CamatCounters>& level);

// What is counted in the cycles from `begin` up to `end`, which is the next part's begin.
struct CamatPart {
  std::string kernel;  // empty: no kernel's
  Cycle begin = 0;
  Cycle end = 0;
  CamatLevels levels;
};

// What a run keeps beside the whole's counters.
struct CamatWanted {
  bool by_kernel = false;
  Cycle every = 0;  // cycles; 0: not over time
};

// Parts of one kind, each from the end of the one before.
class CamatParts {
 public:
  void end_one(std::string kernel, Cycle at, CamatLevels counted);
  // What is left after the last of them, where there is any.
  void end_last(Cycle at, const CamatLevels& counted);
  [[nodiscard]] Cycle last_end() const { return parts_.empty() ? 0 : parts_.back().end; }
  std::vector<CamatPart> take() { return std::move(parts_); }

 private:
  CamatLevels before_;
  std::vector<CamatPart> parts_;
};

}  // namespace terrace::gpu_sim
