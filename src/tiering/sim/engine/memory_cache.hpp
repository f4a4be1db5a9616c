// SPDX-License-Identifier: Apache-2.0
// Models fast memory as a cache of slow memory's lines: the "cache mode" of Knights Landing (Sodani et al.,
// "Knights Landing: second-generation Intel Xeon Phi product", IEEE Micro 36(2), 2016). VirtualMachine uses it for
// `--planner cache-mode`. The cache is memory-side, direct-mapped and write-back, with lines as blocks, and
// independent of the operating system. It is another machine rather than a placement: all data reside in slow
// memory, and this class determines which place serves each access.
//
// Every line that misses in the processor's caches is looked up:
//
//   read, hit     read from fast
//   read, miss    read from fast in vain (tags are stored with the data), then from slow, both latencies in
//                 sequence; filled into fast; the replaced line is written to slow if it is dirty
//   written, hit  written to fast, dirty from then on
//   written, miss the same, and the replaced line is written to slow if it is dirty; nothing is fetched, since a
//                 write-back brings the whole line. No lookup is charged: Knights Landing keeps lines that are
//                 modified in its second-level caches resident in the cache, which saves the lookup
//
// Physical addresses, which determine the conflicts, are unknown. Assumption: chunks are contiguous in the order
// of their creation, and addresses are not reused. So pages get the colours of their position, the best that an
// operating system could do for the arrays of one program.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/chunk_table.hpp"
#include "observe/access_sink.hpp"
#include "sim/engine/time_law.hpp"

namespace terrace::sim {

// A miss addresses its line modulo this number, so a cache of lines needs chunks that are no larger.
inline constexpr std::uint32_t k_max_lines_per_cached_chunk = 65536;

class MemoryCache {
 public:
  // `chunks` is borrowed. Throws Error{invalid} if `capacity` is less than a line, or both places are the same.
  MemoryCache(const memory::ChunkTable& chunks, PlaceId fast, PlaceId slow, Bytes capacity, Bytes line);

  // Adds the traffic that the misses cause on each place. Misses on chunks outside of the slow place, and on
  // memory that belongs to no chunk, bypass the cache. Throws Error{invalid} for a chunk of too many lines.
  void add_traffic(const observe::Quantum& quantum, const observe::PlaceView& view, TimeLaw::Traffic& by_place);

 private:
  struct Way {
    std::uint32_t tag = 0;  // of the cached line, from 1 on; 0: empty
    bool dirty = false;
  };
  [[nodiscard]] std::uint64_t address_of(const observe::Miss& miss);  // in lines
  struct Lookup {
    bool hit = false;
    bool replaced_dirty = false;
  };
  // Inserts the line. Returns whether it was present, and whether a dirty line was replaced.
  Lookup look_up(std::uint64_t address, bool write);

  const memory::ChunkTable& chunks_;
  PlaceId fast_;
  PlaceId slow_;
  std::uint64_t sets_;
  std::uint64_t line_;
  std::vector<std::uint64_t> first_line_;  // by chunk
  std::uint64_t lines_ = 0;                // of all chunks so far
  std::vector<Way> ways_;                  // by set, as many as the chunks so far can use
};

}  // namespace terrace::sim
