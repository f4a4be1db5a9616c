// What a pipeline needs once an access has left the fast way: caches, streams, dependence, the quantum that is
// being filled.
#pragma once

#include <array>
#include <optional>

#include "access/dependence.hpp"
#include "access/exposure.hpp"
#include "access/pipeline.hpp"
#include "access/shared_cache.hpp"
#include "access/streams.hpp"

namespace terrace::access {

struct Pipeline::State {
  // A line that is accessed.
  struct Line {
    std::uint64_t number = 0;   // canonical address / line size
    std::uint64_t host = 0;     // address that was accessed, of this process
    std::uint64_t canonical = 0;
    memory::ChunkId chunk = memory::k_no_chunk;
    std::uint64_t in_chunk = 0; // line within the chunk
  };

  State(const PipelineConfig& config, SharedCache& shared_caches, const AddressMap& address_map,
        backend::AccessSink& access_sink, std::uint32_t thread_number, Unknown unknown_address);

  // The line of an address that `page` translates.
  [[nodiscard]] Line line_of(std::uint64_t address, const Translation& page) const;
  // One line access. The level at which the line's data arrive, when values loaded from it are to be followed.
  std::optional<std::uint64_t> touch(const Line& line, bool store, std::uint64_t site);
  // Hands the quantum of `accesses` to the sink and begins the next.
  void finish(std::uint64_t accesses);
  [[nodiscard]] bool nearly_full() const { return misses.size() + k_most_misses > misses.capacity(); }

  static constexpr std::size_t k_miss_buffer = 32768;
  static constexpr std::size_t k_most_misses = 4 * (backend::k_max_cache_levels + 1);  // by one access

  // Pages that nobody knew: asking is slow.
  struct Missing {
    std::uint64_t page = 0;
    std::uint32_t generation = 1;
  };
  static constexpr std::size_t k_missing = 64;
  std::array<Missing, k_missing> missing{};

  const AddressMap& map;
  Unknown unknown;
  std::vector<Cache> own;
  std::vector<Cache*> levels;
  std::size_t first_shared = 0;    // of the levels
  std::uint64_t last_word = 0;     // see Pipeline::first_words_
  bool first_is_fast = false;      // the fast way looks into the first cache itself
  bool in_sink = false;

  std::uint64_t quantum_accesses;
  std::uint64_t accesses_before = 0;     // in earlier quanta
  std::uint64_t unknown_lines_before = 0;
  std::uint64_t unknown_lines = 0;       // in this quantum, as all below
  std::uint64_t extra_lines = 0;         // of accesses that touched more than one
  std::uint64_t first_misses = 0;        // of the first cache
  std::array<std::uint64_t, backend::k_max_cache_levels> hits{};
  std::vector<backend::Miss> misses;

  Streams streams;
  Dependence dependence;
  Exposure exposure;

 private:
  std::optional<std::uint64_t> outwards(const Line& line, bool store, std::uint64_t site, std::uint64_t victim);
  std::uint64_t demand(const Line& line, std::uint64_t site, bool& followed);
  void write_out(std::size_t level, std::uint64_t victim);
  void write_to_memory(std::uint64_t line);

  struct Reverse {  // translations of canonical pages, for lines that go back to memory
    std::uint64_t low = 0;
    std::uint64_t size = 0;
    std::uint64_t origin = 0;
    std::uint32_t generation = 1;
    memory::ChunkId chunk = memory::k_no_chunk;
  };
  static constexpr std::size_t k_reverse = 256;

  SharedCache& shared;
  backend::AccessSink& sink;
  std::uint32_t thread;
  unsigned line_bits;
  std::vector<Reverse> reverse{k_reverse};
};

}  // namespace terrace::access
