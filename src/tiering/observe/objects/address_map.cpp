// SPDX-License-Identifier: Apache-2.0
// Implements the map from host to canonical addresses: the runtime changes it with the program's objects,
// pipelines look up accesses. See address_map.hpp.
#include "observe/objects/address_map.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/rounding.hpp"
#include "observe/objects/segment_index.hpp"
#include "observe/objects/spin_lock.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

namespace {

// The first canonical page: no canonical address is 0.
constexpr std::uint64_t k_first_canonical = std::uint64_t{1} << 20;
// Canonical addresses reserved for a stack, below and above the reference: independent of its actual size, which
// must not affect the addresses of the next object.
constexpr std::uint64_t k_stack_below = std::uint64_t{1} << 40;
constexpr std::uint64_t k_stack_above = std::uint64_t{1} << 32;

}  // namespace

struct AddressMap::State {
  std::atomic<std::uint32_t> generation{0};
  SpinLock lock;
  SegmentIndex host;
  SegmentIndex canonical;
  std::uint64_t next = k_first_canonical;
  std::vector<std::atomic<std::uint64_t>*> epochs;  // set to 0 by changes

  // Scope of a change of the map. The thread is inside the runtime meanwhile: a signal handler must not look up an
  // incomplete change.
  class Change {
   public:
    explicit Change(State& state) : state_(state), guard_(state.lock) {
      // The generation before the epochs: a concurrent FastTable::begin_epoch sees one of them.
      state_.generation.store(state_.generation.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
      for (auto* const epoch : state_.epochs) epoch->store(0, std::memory_order_seq_cst);
    }
    ~Change() {
      state_.generation.store(state_.generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    RuntimeScope inside_;
    State& state_;
    std::lock_guard<SpinLock> guard_;
  };

  void remove(std::uint64_t low, std::uint64_t high) {
    for (const Segment& piece : host.cut(low, high))
      canonical.cut(piece.low + piece.delta, piece.high + piece.delta);
  }
  // Adds a segment to the indices by host and by canonical address.
  void put(const Segment& piece) {
    host.insert(piece);
    Segment image = piece;
    image.low += piece.delta;
    image.high += piece.delta;
    image.origin += piece.delta;
    canonical.insert(image);
  }
  void replace(std::uint64_t low, std::uint64_t high, std::uint64_t delta) {
    remove(low, high);
    if (low < high) put({low, high, delta, low, memory::k_no_chunk});
  }

  bool find(const SegmentIndex& index, std::uint64_t address, Location& location, std::uint32_t& seen) const {
    for (;;) {
      seen = generation.load(std::memory_order_acquire);
      Segment segment;
      const bool found = (seen & 1) == 0 && index.find(address, segment);
      if ((seen & 1) == 0 && generation.load(std::memory_order_relaxed) == seen) {
        if (found)
          location = {segment.delta, segment.low,    segment.high,
                      segment.chunk, segment.origin, segment.reuse_delta};
        return found;
      }
      sched_yield();
    }
  }
};

AddressMap::AddressMap() : state_(std::make_unique<State>()) {}
AddressMap::~AddressMap() = default;

std::uint64_t AddressMap::add_range(std::uint64_t low, std::uint64_t size, std::uint64_t room) {
  const State::Change change(*state_);
  const std::uint64_t base = page_up(state_->next) + low % k_page;
  state_->next = base + std::max({size, room, std::uint64_t{1}});
  state_->replace(low, low + size, base - low);
  return base;
}

std::uint64_t AddressMap::add_stack(std::uint64_t low, std::uint64_t reference, std::uint64_t high) {
  const State::Change change(*state_);
  const std::uint64_t base = page_up(state_->next);
  const std::uint64_t origin = base + k_stack_below;
  state_->next = origin + k_stack_above;
  low = std::max(low, reference - std::min(reference, k_stack_below));
  high = std::min(high, reference + k_stack_above);
  state_->replace(low, high, origin - reference);
  return origin;
}

bool AddressMap::add_at(std::uint64_t low, std::uint64_t size, std::uint64_t canonical) {
  const State::Change change(*state_);
  if (state_->canonical.overlaps(canonical, canonical + size)) return false;
  state_->replace(low, low + size, canonical - low);
  return true;
}

bool AddressMap::extend(std::uint64_t anchor, std::uint64_t low, std::uint64_t size) {
  const State::Change change(*state_);
  Segment at;
  if (!state_->host.find(anchor, at)) return false;
  // Beyond the reserve the canonical addresses belong to another range, which loses them: neither index may
  // overlap.
  for (const Segment& other : state_->canonical.cut(low + at.delta, low + size + at.delta)) {
    state_->host.cut(other.low - other.delta, other.high - other.delta);
  }
  state_->replace(low, low + size, at.delta);
  return true;
}

void AddressMap::remove_range(std::uint64_t low, std::uint64_t size) {
  const State::Change change(*state_);
  state_->remove(low, low + size);
}

void AddressMap::set_chunk(std::uint64_t low, std::uint64_t size, ChunkId chunk, std::uint64_t reuse_delta) {
  const State::Change change(*state_);
  for (Segment piece : state_->host.cut(low, low + size)) {
    state_->canonical.cut(piece.low + piece.delta, piece.high + piece.delta);
    piece.chunk = chunk;
    piece.reuse_delta = reuse_delta;
    piece.origin = low;
    state_->put(piece);
  }
}

bool AddressMap::find(std::uint64_t address, Location& location) const {
  std::uint32_t generation = 0;
  return state_->find(state_->host, address, location, generation);
}

bool AddressMap::find(std::uint64_t address, Location& location, std::uint32_t& generation) const {
  return state_->find(state_->host, address, location, generation);
}

bool AddressMap::find_canonical(std::uint64_t canonical, Location& location, std::uint32_t& generation) const {
  return state_->find(state_->canonical, canonical, location, generation);
}

const std::atomic<std::uint32_t>& AddressMap::generation() const { return state_->generation; }

void AddressMap::watch(std::atomic<std::uint64_t>& epoch) const {
  const RuntimeScope inside;
  const std::lock_guard<SpinLock> guard(state_->lock);
  state_->epochs.push_back(&epoch);
}

void AddressMap::unwatch(std::atomic<std::uint64_t>& epoch) const {
  const RuntimeScope inside;
  const std::lock_guard<SpinLock> guard(state_->lock);
  std::erase(state_->epochs, &epoch);
}

void AddressMap::before_fork() { state_->lock.lock(); }
void AddressMap::after_fork() { state_->lock.unlock(); }

}  // namespace terrace::observe
