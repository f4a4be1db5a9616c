// SPDX-License-Identifier: Apache-2.0
// Ways to run a chain on two memories, priced in virtual time: no kernel runs. Each is one file in modes/; the
// build makes the table of them (cmake/Variants.cmake).
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
  bool is_cyclic = true;      // temporaries are not stored
  bool is_prefetched = true;  // the next chain's first data come while this one ends
  double processes = 1;       // of a cache: that do not wait for one another within a chain in tiles
};

// What a mode has counted.
struct ModeCounts {
  double seconds = 0;
  double loop_seconds = 0;    // in which loops ran
  double copy_seconds = 0;    // in which anything was copied between the memories
  double hidden_seconds = 0;  // those of them in which loops ran, too
  double bytes_in = 0;        // from the slow memory
  double bytes_out = 0;
  double accesses = 0;  // bytes
  double hits = 0;      // of them in the fast memory
  double tiles = 0;
  double untiled_chains = 0;  // chains that were to run in tiles and ran without: none has room

  // The share of the time of copies that is hidden behind loops; 0 where nothing is copied.
  [[nodiscard]] double overlap() const { return copy_seconds > 0 ? hidden_seconds / copy_seconds : 0; }
};

// Not even the smallest tile of a chain has room, and the mode does not cut chains.
class NoTileFits final : public Error {
 public:
  NoTileFits(const std::string& memory, std::size_t loops)
      : Error(Code::invalid, memory + " has no room for a tile of " + std::to_string(loops) + " loops") {}
};

class Mode {
 public:
  virtual ~Mode() = default;
  // Throws Error{invalid} where a memory that has to have all datasets has no room for it.
  virtual void add(const DatasetInfo& info) = 0;
  // Of one block. Throws NoTileFits, or InsufficientMemory where a shorter chain may have room (stream/shortened.hpp).
  virtual void run(std::span<const Loop> chain) = 0;
  // What the chain that ran last was cut into, of those who cut it as an executor does.
  [[nodiscard]] virtual CutChain cut() const { return {}; }
  // Somebody waits for what the last chain gave.
  virtual void end() {}
  [[nodiscard]] const ModeCounts& counts() const { return counts_; }

 protected:
  ModeCounts counts_;
};

class ModeVariant {
 public:
  virtual ~ModeVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Which of memory, slow_memory, tiled, cyclic, prefetched and processes it uses, by their names in calls of
  // terrace-stencils. All use bandwidth.
  [[nodiscard]] virtual std::vector<std::string_view> words() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Mode> make(const TwoTierMachine& tiers,
                                                   const ModeOptions& options) const = 0;
};
const std::vector<const ModeVariant*>& modes();
// Throws Error{invalid} naming those that there are.
const ModeVariant& find_mode(std::string_view name);

}  // namespace terrace::stencil
