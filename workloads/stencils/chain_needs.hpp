// Counts the minimum traffic of chains with the slow memory, for any out-of-core scheme (needs=1 of
// terrace-stencils): points that a chain needs from before, and points that must outlive it. No kernel runs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::programs {

// Traffic of a chain in bytes.
struct ChainNeeds {
  std::size_t loops = 0;
  double in = 0;   // read before the chain writes it, and written by an earlier chain: unwritten values are 0
  double out = 0;  // written, and not temporary
};

struct Needs {
  std::vector<ChainNeeds> chains;
  double dataset_bytes = 0;
};

// Creates a context whose chains are only counted, in `needs`, which must outlive it. All values are 0.
[[nodiscard]] Context counting_context(Needs& needs);

}  // namespace terrace::stencil::programs
