// Fast memory as a cache of slow memory's lines: the "cache mode" of Knights Landing (Sodani et al., "Knights
// Landing: second-generation Intel Xeon Phi product", IEEE Micro 36(2), 2016): memory-side, direct-mapped,
// write-back, a line at a time, whatever the operating system does. It is another machine rather than a placement:
// everything is in slow memory, and this says which place serves what.
//
// Every line that the processor's caches let through looks up:
//
//   read, hit     read from fast
//   read, miss    read from fast in vain (tags are with the data), then from slow, both latencies one after the
//                 other; written to fast; the line that it replaces is written to slow if it is dirty
//   written, hit  written to fast, dirty from then on
//   written, miss the same, and the line that it replaces is written to slow if it is dirty; nothing is fetched,
//                 since a write-back brings the whole line. No lookup is charged: Knights Landing keeps
//                 what its second-level caches hold modified in the cache, so as not to have to look
//
// Physical addresses, which decide what displaces what, are not known. Assumed: chunks are one behind the other in
// the order in which the program made them, and addresses are not used again; so pages get the colours of their
// position, the best that an operating system could do for arrays of one program.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/chunk_table.hpp"
#include "observe/access_sink.hpp"
#include "sim/engine/time_law.hpp"

namespace terrace::sim {

// A miss names its line modulo so many: a cache of lines needs chunks that are no larger.
inline constexpr std::uint32_t k_max_lines_of_a_cached_chunk = 65536;

class MemoryCache {
 public:
  // The table outlives it. Throws Error{invalid} where `capacity` is less than a line, or both places are one.
  MemoryCache(const memory::ChunkTable& chunks, PlaceId fast, PlaceId slow, Bytes capacity, Bytes line);

  // Adds what the misses ask of each place; those on chunks that are not on the slow place, and on memory that
  // belongs to no chunk, go past the cache. Throws Error{invalid} for a chunk of too many lines.
  void serve(const observe::Quantum& quantum, const observe::PlaceView& view, TimeLaw::Traffic& by_place);

 private:
  struct Way {
    std::uint32_t tag = 0;  // of the line that is here, from 1 on; 0: none
    bool dirty = false;
  };
  [[nodiscard]] std::uint64_t address_of(const observe::Miss& miss);  // in lines
  // The line is in the cache from now on. Whether it was already; and whether a dirty one had to go for it.
  struct Found {
    bool hit = false;
    bool displaced_dirty = false;
  };
  Found look_up(std::uint64_t address, bool write);

  const memory::ChunkTable& chunks_;
  PlaceId fast_;
  PlaceId slow_;
  std::uint64_t sets_;
  std::uint64_t line_;
  std::vector<std::uint64_t> first_line_;  // by chunk
  std::uint64_t lines_ = 0;                // of all chunks so far
  std::vector<Way> ways_;                  // by set, as far as there is memory for it
};

}  // namespace terrace::sim
