// What chains have to read from the slow memory and write to it, whoever streams: points that a chain needs from
// before, and those that it leaves behind, by themselves. No kernel runs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::programs {

// Of a chain, in bytes.
struct ChainNeeds {
  std::size_t loops = 0;
  double in = 0;   // read before the chain writes it, and written by a chain before: what nobody has written is 0
  double out = 0;  // written, and not temporary
};

struct Needs {
  std::vector<ChainNeeds> chains;
  double dataset_bytes = 0;
};

// A context whose chains are only counted, in `needs`, which outlives it. All numbers are 0.
[[nodiscard]] Context counting_context(Needs& needs);

}  // namespace terrace::stencil::programs
