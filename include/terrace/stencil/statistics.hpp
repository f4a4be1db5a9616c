// SPDX-License-Identifier: Apache-2.0
// Declares the counters that Context::statistics() returns to a stencil program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace terrace::stencil {

// Totals of all loops of one name.
struct LoopStatistics {
  std::uint64_t count = 0;
  double bytes = 0;
  double seconds = 0;
};

struct Statistics {
  std::uint64_t chains = 0;
  std::uint64_t loops = 0;
  std::uint64_t longest_chain = 0;  // maximum chain length, in loops
  std::uint64_t tiles = 0;
  double seconds = 0;  // time in which chains ran
  // Transfers between datasets and the bytes that they wrote. Their time is part of `seconds`.
  std::uint64_t transfers = 0;
  double transferred_bytes = 0;
  // Sum over all loops: points times the bytes of elements that each reads and writes, a dataset that is read
  // and written counting twice. bytes / seconds is the average bandwidth of I. Reguly et al., MCHPC 2017,
  // section 5.
  double bytes = 0;
  // "streamed": bytes moved between memory and files by chains and transfers ("gpu": between host and GPU
  // memory), and the seconds that threads waited for them.
  double bytes_in = 0;
  double bytes_out = 0;
  double waited = 0;
  // "streamed": bytes moved between memory and files for get() and set(), in whole chunks.
  double copied_in = 0;
  double copied_out = 0;
  // Chains that did not fit into memory as a whole and ran as two shorter ones, which may be split again.
  std::uint64_t shortened_chains = 0;
  // Several ranks: number of exchanges, messages and bytes that this rank sent, and their seconds. `bytes`
  // counts whole loops; `redundant_bytes` counts, in the same way, points that this rank computed and another
  // one owns.
  std::uint64_t exchanges = 0;
  std::uint64_t messages = 0;
  double exchanged_bytes = 0;
  double exchange_seconds = 0;
  double redundant_bytes = 0;
  // "serial" and "parallel", which run loop by loop.
  std::map<std::string, LoopStatistics> by_loop;
};

}  // namespace terrace::stencil
