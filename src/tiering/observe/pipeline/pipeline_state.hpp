// What a pipeline needs once an access has left the fast way: translations, caches, streams, dependence, the
// quantum that is being filled.
#pragma once

#include <array>
#include <optional>

#include "observe/cache/dependence.hpp"
#include "observe/cache/exposure.hpp"
#include "observe/cache/miss_strides.hpp"
#include "observe/pipeline/shared_cache.hpp"
#include "observe/cache/streams.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/pipeline/translation_cache.hpp"

namespace terrace::observe {

struct Pipeline::State {
  // A line that is accessed.
  struct Line {
    std::uint64_t number = 0;  // canonical address / line size
    std::uint64_t host = 0;    // address that was accessed, of this process
    const Translation* page = nullptr;
    Exposure::At at{};  // the access
  };
  // What became of it.
  struct Touched {
    Level level = k_no_level;  // at which its data arrive, when values loaded from it are followed
    std::uint32_t slot = FirstCache::k_nowhere;  // in the first cache
  };

  State(const PipelineConfig& config, SharedCache& shared_caches, const AddressMap& address_map,
        AccessSink& access_sink, std::uint32_t thread_number, Unknown unknown_address, FastTable& fast_table);

  // Returns the translation of an address, or null where the map does not have it.
  const Translation* translate(std::uint64_t address) {
    Translation& page = translations_.of(address);
    if (TranslationCache::holds(page, address, generation_.load(std::memory_order_acquire))) return &page;
    return look_up(address, page);
  }
  // One line access.
  Touched touch(const Line& line, std::uint64_t site);
  // The next access to the line at `address`, which was touched now, takes the fast way.
  void remember(std::uint64_t address, const Translation& page, const Touched& touched, std::uint64_t now) {
    const std::uint64_t line = std::uint64_t{1} << line_bits;
    const std::uint64_t from = ((address + page.delta) >> line_bits << line_bits) - page.delta;
    // A line that holds more than one piece of memory (arguments of a program are side by side): the next access
    // may be to the other.
    const bool whole = from - page.low <= page.size - line && page.size >= line;
    if (!first_) return remember_last(address, from, whole ? &page : nullptr, touched);
    first_->used()[touched.slot] = now;
    if (whole) first_->install(touched.slot, address, from, page.generation);
  }
  // Returns the level at which the data of a line arrive that the table follows; when it is no longer followed,
  // the table serves it from then on.
  Level followed(FastLine& fast);
  // Hands the quantum of `lines` line accesses to the sink and begins the next.
  void finish(std::uint64_t lines, std::uint64_t instructions, bool in_stride);
  // Lines that went to or came from memory.
  [[nodiscard]] bool nearly_full() const { return misses_.size() + k_max_misses > misses_.capacity(); }

  static constexpr std::size_t k_miss_buffer = 32768;
  static constexpr std::size_t k_max_misses = 4 * (k_max_cache_levels + 1);  // by one access

  unsigned line_bits;
  FunctionUse* functions;
  Dependence dependence;
  Exposure exposure;
  bool in_sink = false;
  Turn turn = nullptr;

  std::uint64_t quantum_lines;
  std::uint64_t quantum_begin = 0;       // by the clock
  std::uint64_t extra_lines_before = 0;  // in earlier quanta
  std::uint64_t unknown_lines_before = 0;
  std::uint64_t unknown_lines = 0;  // in this quantum, as all below
  std::uint64_t extra_lines = 0;    // of accesses that touched more than one
  std::vector<LibraryCalls> calls;

 private:
  [[gnu::noinline]] const Translation* look_up(std::uint64_t address, Translation& page);
  // `page`: null where the line may not be remembered.
  void remember_last(std::uint64_t address, std::uint64_t from, const Translation* page, const Touched& touched);
  void find_sets(std::uint64_t line);
  // Fetches what the caches keep of the line's sets into the host's caches.
  void fetch_sets(std::uint64_t line);
  Level outwards(const Line& line, std::uint64_t site, std::uint64_t victim, std::uint64_t* victim_set);
  Level miss(const Line& line, std::uint64_t site);
  void look_up_page(std::uint64_t line, bool cached);
  void write_out(std::size_t level, std::uint64_t victim, std::uint64_t* set);
  void write_to_memory(std::uint64_t line);
  void count_by_function(std::uint64_t site, std::size_t found, bool walked);
  [[nodiscard]] std::uint64_t canonical(const Line& line) const { return line.host + line.page->delta; }

  const AddressMap& map_;
  const std::atomic<std::uint32_t>& generation_;
  Unknown unknown_;
  SharedCache& shared_;
  AccessSink& sink_;
  std::uint32_t thread_;
  FastTable& fast_;
  std::optional<FirstCache> first_;  // when the first cache is private
  FastLine* last_line_ = nullptr;    // when it is not: the one fast line
  std::uint64_t no_use_ = 0;
  std::vector<Cache> own_;
  std::vector<Cache*> outer_;                              // all but the first private one, outwards
  std::array<std::uint64_t*, k_max_cache_levels> sets_{};  // of the outer caches, for the line that is looked for
  std::size_t first_shared_ = 0;                           // of the outer ones
  std::size_t outer_level_ = 0;                            // the machine's number of outer[0]
  std::optional<Cache> tlb_;                               // its lines are pages
  unsigned line_to_page_ = 0;                              // bits of a line's number within a page
  Streams streams_;
  MissStrides strides_;
  TranslationCache translations_;  // of addresses of this process
  TranslationCache reverse_;       // of canonical addresses, for lines that go back to memory
  UnknownPages unknown_pages_;

  std::uint64_t first_misses_ = 0;
  std::uint64_t walks_ = 0;
  std::array<std::uint64_t, k_max_cache_levels> hits_{};
  std::vector<Miss> misses_;
  std::vector<FunctionUse::Index> missed_in_;  // of the misses, where it is asked
};

}  // namespace terrace::observe
