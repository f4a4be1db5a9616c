#include "access/pipeline.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "access/pipeline_state.hpp"
#include "access/thread.hpp"
#include "base/error.hpp"

namespace terrace::access {

namespace {

void check(const PipelineConfig& config) {
  if (!std::has_single_bit(config.line.value)) {
    throw Error(Code::invalid, "a cache line of " + std::to_string(config.line.value) +
                                   " bytes: it must be a power of two");
  }
  if (config.caches.size() > backend::k_max_cache_levels) {
    throw Error(Code::invalid, std::to_string(config.caches.size()) + " cache levels: at most " +
                                   std::to_string(backend::k_max_cache_levels) + " can be followed");
  }
  for (std::size_t i = 1; i < config.caches.size(); ++i) {
    if (config.caches[i - 1].shared && !config.caches[i].shared) {
      throw Error(Code::invalid, "cache " + config.caches[i].name + " is private and lies behind the shared cache " +
                                     config.caches[i - 1].name + ": private caches come first");
    }
  }
}

// The value that a load is about to load. Null for sizes that hold neither pointers nor indices.
bool read_value(std::uint64_t address, std::uint32_t size, std::uint64_t& value) {
  const auto* at = reinterpret_cast<const void*>(address);
  if (size == 8) {
    std::memcpy(&value, at, 8);
    return true;
  }
  if (size == 4) {  // an index may be negative
    std::int32_t narrow = 0;
    std::memcpy(&narrow, at, 4);
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(narrow));
    return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<SharedCache, void (*)(SharedCache*)> make_shared_cache(const PipelineConfig& config) {
  check(config);
  return {new SharedCache(config), [](SharedCache* shared) { delete shared; }};
}

void renew_locks(SharedCache& shared) {
  shared.lock.unlock();
  shared.turn.unlock();
}

Pipeline::Pipeline(const PipelineConfig& config, SharedCache& shared, const AddressMap& map,
                   backend::AccessSink& sink, std::uint32_t thread, Unknown unknown)
    : generation_(&map.generation()) {
  check(config);
  line_mask_ = config.line.value - 1;
  line_bits_ = static_cast<unsigned>(std::countr_zero(config.line.value));
  translations_ = std::make_unique<Translation[]>(k_translations);
  state_ = std::make_unique<State>(config, shared, map, sink, thread, std::move(unknown));
  remaining_ = state_->quantum_accesses;
  first_words_ = &state_->last_word;
  if (!state_->own.empty() && std::has_single_bit(state_->own[0].sets())) {
    Cache& first = state_->own[0];
    state_->first_is_fast = true;
    first_words_ = first.front();
    first_mask_ = first.sets() - 1;
    first_ways_ = first.ways();
  }
}

Pipeline::~Pipeline() = default;

const Pipeline::Translation* Pipeline::translate(std::uint64_t address) {
  Translation& page = translations_[(address >> k_page_bits) % k_translations];
  const std::uint32_t now = generation_->load(std::memory_order_acquire);
  if (address - page.low < page.size && page.generation == now) return &page;
  State& state = *state_;
  Location location;
  std::uint32_t generation = 0;
  if (!state.map.find(address, location, generation)) {
    State::Missing& missing = state.missing[(address >> k_page_bits) % State::k_missing];
    if (missing.page == address >> k_page_bits && missing.generation == generation) return nullptr;
    if (!state.unknown || !state.unknown(address) || !state.map.find(address, location, generation)) {
      missing = {address >> k_page_bits, generation};
      return nullptr;
    }
  }
  page = {location.low, location.high - location.low, location.delta, generation, location.chunk, location.origin};
  return &page;
}

void Pipeline::step_aside(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site) {
  std::optional<std::uint64_t> follow;
  {
    const Inside inside;
    State& state = *state_;
    std::uint64_t at = address;
    std::uint64_t left = std::max(size, 1u);
    for (bool first = true; left > 0; first = false) {
      if (!first) ++state.extra_lines;
      const Translation* page = translate(at);
      // Without a translation the rest is one line that nobody knows.
      std::uint64_t here = left;
      if (page == nullptr) {
        ++state.unknown_lines;
      } else {
        const std::uint64_t canonical = at + page->delta;
        here = std::min(left, line_mask_ + 1 - (canonical & line_mask_));
        const auto level = state.touch(state.line_of(at, *page), store, site);
        if (first && here == size) follow = level;
      }
      at += here;
      left -= here;
    }
    if (--remaining_ == 0 || state.nearly_full()) end_quantum();
  }
  // Outside of Terrace: the program's memory may not be there, and its handler may not come back here.
  std::uint64_t value = 0;
  if (follow && !store && read_value(address, size, value)) state_->dependence.loaded(value, *follow);
}

void Pipeline::range(std::uint64_t address, std::uint64_t size, bool store, std::uint64_t site) {
  const Inside inside;
  State& state = *state_;
  while (size > 0) {
    const Translation* page = translate(address);
    std::uint64_t here = 0;
    if (page == nullptr) {
      ++state.unknown_lines;
      here = line_mask_ + 1 - (address & line_mask_);
    } else {
      const std::uint64_t canonical = address + page->delta;
      here = line_mask_ + 1 - (canonical & line_mask_);
      state.touch(state.line_of(address, *page), store, site);
    }
    here = std::min(here, size);
    address += here;
    size -= here;
    if (--remaining_ == 0 || state.nearly_full()) end_quantum();
  }
}

void Pipeline::end_quantum() {
  const Inside inside;
  State& state = *state_;
  const std::uint64_t accesses = state.quantum_accesses - remaining_;
  remaining_ = state.quantum_accesses;
  if (accesses > 0) state.finish(accesses);
}

void Pipeline::flush() {
  if (state_->in_sink) return;
  const Inside inside;
  end_quantum();
  state_->exposure.barrier();
}

std::uint64_t Pipeline::accesses() const { return state_->accesses_before + state_->quantum_accesses - remaining_; }
std::uint64_t Pipeline::unknown_accesses() const { return state_->unknown_lines_before + state_->unknown_lines; }

}  // namespace terrace::access
