// What a context has done so far.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terrace::stencil {

struct Statistics {
  std::uint64_t chains = 0;
  std::uint64_t loops = 0;
  std::uint64_t longest_chain = 0;  // in loops
  std::uint64_t tiles = 0;
  double seconds = 0;  // in which chains ran
  // Of all loops: points times the elements that each reads and writes, a dataset that is read and written
  // counting twice. Over `seconds` it is the average bandwidth of I. Reguly et al., MCHPC 2017, section 5.
  double bytes = 0;
  // Of "streamed": moved between memory and files, and how long the program waited for it.
  double bytes_in = 0;
  double bytes_out = 0;
  double waited = 0;
};

}  // namespace terrace::stencil
