// SPDX-License-Identifier: Apache-2.0
// What a context has done so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace terrace::stencil {

// Of all loops of a name.
struct LoopStatistics {
  std::uint64_t count = 0;
  double bytes = 0;
  double seconds = 0;
};

struct Statistics {
  std::uint64_t chains = 0;
  std::uint64_t loops = 0;
  std::uint64_t longest_chain = 0;  // in loops
  std::uint64_t tiles = 0;
  double seconds = 0;  // in which chains ran
  // Transfers between datasets, and the bytes that they wrote. Their time is in `seconds`.
  std::uint64_t transfers = 0;
  double transferred_bytes = 0;
  // Of all loops: points times the elements that each reads and writes, a dataset that is read and written
  // counting twice. Over `seconds` it is the average bandwidth of I. Reguly et al., MCHPC 2017, section 5.
  double bytes = 0;
  // Of "streamed": moved between memory and files (of "gpu": the memories of host and GPU) by chains and
  // transfers, and how long a thread waited for it.
  double bytes_in = 0;
  double bytes_out = 0;
  double waited = 0;
  // Of "streamed": moved between memory and files for get() and set(), whole chunks where these ask for a part.
  double copied_in = 0;
  double copied_out = 0;
  // Chains that had no room in the memory as a whole and ran as two shorter ones, which may be cut again.
  std::uint64_t shortened_chains = 0;
  // Of several ranks: how often they exchanged what their chains need, the messages and bytes that this one sent
  // for it, and how long that took. `bytes` is of the whole loops; `redundant_bytes` is counted alike, of the
  // points that this rank computed and another one has.
  std::uint64_t exchanges = 0;
  std::uint64_t messages = 0;
  double exchanged_bytes = 0;
  double exchange_seconds = 0;
  double redundant_bytes = 0;
  // Of "serial" and "parallel", which run one loop after the other.
  std::map<std::string, LoopStatistics> by_loop;
};

}  // namespace terrace::stencil
