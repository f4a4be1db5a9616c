// SPDX-License-Identifier: Apache-2.0
// Interface of the modes: strategies to run a chain on a two-tier machine, priced in virtual time; no kernel
// runs. `how=MODE` of terrace-stencils selects one, and VirtualRun runs it. Each mode is one file in modes/; the
// build generates their table (cmake/Variants.cmake).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "stencil/data/storage.hpp"
#include "stencil/execute/executor.hpp"
#include "stencil/virtual/two_tier_machine.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

struct ModeOptions {
  bool is_tiled = true;
  bool is_cyclic = true;      // temporary datasets are not written back
  bool is_prefetched = true;  // prefetch for the next chain while this one ends
  double processes = 1;       // of a cache: processes without barriers within a tiled chain
};

// Totals that a mode counts.
struct ModeCounts {
  double seconds = 0;
  double loop_seconds = 0;    // time in which loops ran
  double copy_seconds = 0;    // time in which anything was copied between the memories
  double hidden_seconds = 0;  // part of copy_seconds in which loops also ran
  double bytes_in = 0;        // bytes read from the slow memory
  double bytes_out = 0;
  double accesses = 0;  // bytes
  double hits = 0;      // bytes of accesses that hit the fast memory
  double tiles = 0;
  double untiled_chains = 0;  // chains that ran untiled because no tile fits

  // Returns the fraction of copy time that is hidden behind loops; 0 without copies.
  [[nodiscard]] double overlap() const { return copy_seconds > 0 ? hidden_seconds / copy_seconds : 0; }
};

// Thrown if not even the smallest tile of a chain fits, and the mode does not split chains.
class NoTileFits final : public Error {
 public:
  NoTileFits(const std::string& memory, std::size_t loops)
      : Error(Code::invalid, memory + " has no space for a tile of " + std::to_string(loops) +
                                 " loops: make memory=SIZE larger") {}
};

class Mode {
 public:
  virtual ~Mode() = default;
  // Adds a dataset. Throws Error{invalid} if a memory that must hold all datasets cannot.
  virtual void add(const DatasetInfo& info) = 0;
  // Prices a chain of one block. Throws NoTileFits, or InsufficientMemory if a shorter chain may fit
  // (stream/chain_splitter.hpp).
  virtual void run(std::span<const Loop> chain) = 0;
  // Returns how the last chain was cut, in modes that cut it as an executor does.
  [[nodiscard]] virtual CutChain cut() const { return {}; }
  // Waits for the results of the last chain.
  virtual void end() {}
  [[nodiscard]] const ModeCounts& counts() const { return counts_; }

 protected:
  ModeCounts counts_;
};

struct ModeVariant {
  std::string_view name;
  // The options that the mode uses, by their names on the command line of terrace-stencils: memory, slow_memory,
  // tiled, cyclic, prefetched, processes. All modes use bandwidth.
  std::vector<std::string_view> words;
  std::unique_ptr<Mode> (*make)(const TwoTierMachine& tiers, const ModeOptions& options);
};

template <class SomeMode>
std::unique_ptr<Mode> make_mode(const TwoTierMachine& tiers, const ModeOptions& options) {
  return std::make_unique<SomeMode>(tiers, options);
}

const std::vector<const ModeVariant*>& modes();
// Returns the mode. Throws Error{invalid}, which names the known modes.
const ModeVariant& find_mode(std::string_view name);

}  // namespace terrace::stencil
