// SPDX-License-Identifier: Apache-2.0
// Selects chunks to promote and evict by the rent-or-buy rule while the first iteration is profiled, for
// EarlyMover. See early_move_selector.hpp.
#include "strategy/learning/early_move_selector.hpp"

#include <algorithm>
#include <utility>

namespace terrace::strategy {

namespace {

constexpr double k_max_early = 0.125;     // share of fast memory for prefetched chunks
constexpr double k_stay = 3;              // residence of a prefetched chunk, in times of its use
constexpr std::uint32_t k_patience = 64;  // min segments that a prefetched chunk waits for its use
constexpr std::uint32_t k_ahead = 4;      // the same in times of its use; chunks are prefetched two uses ahead

// The bandwidth time of a line read or written in a place, and the core time of an exposed access, in seconds.
struct Prices {
  double read, write, exposed;
};

Prices prices(const machine::Machine& machine, InitiatorId initiator, PlaceId place) {
  const auto& path = machine.path(initiator, place);
  const auto line = static_cast<double>(machine.parts().line.value);
  return {line / path.read.value, line / path.write.value, path.latency.value};
}

double busy(const observe::Cell& cell, const Prices& of) {
  return cell.read_lines * of.read + cell.write_lines * of.write;
}

}  // namespace

// According to the time law, the segment's time was the stall time of the core or the busy time of the busiest
// place.
void EarlyMoveSelector::on_segment(const observe::Phase& segment, const Tiers& tiers, double times) {
  const auto fast = prices(machine_, initiator_, tiers.fast);
  const auto slow = prices(machine_, initiator_, tiers.slow);
  double stalled = segment.core.value, slow_busy = 0;
  for (const auto& cell : segment.cells) {
    const bool in_slow = tiers.is_on(cell.chunk, tiers.slow);
    stalled += cell.exposure * (in_slow ? slow : fast).exposed;
    if (in_slow) slow_busy += busy(cell, slow);
  }
  credit_ = std::min(credit_, 0.0) + times * segment.time.value;
  uses_.clear();
  for (const auto& cell : segment.cells) {
    const auto gain =
        slow_busy > stalled ? busy(cell, slow) - busy(cell, fast) : cell.exposure * (slow.exposed - fast.exposed);
    if (gain <= 0) continue;  // e.g. lines that are only written back, long after a sweep has passed
    uses_.push_back({cell.chunk, gain, 1});
    if (cell.chunk >= accumulated_gain_.size()) {
      accumulated_gain_.resize(cell.chunk + std::size_t{1}, 0);
      lost_.resize(accumulated_gain_.size(), 0);
      sent_to_.resize(accumulated_gain_.size(), k_no_place);
    }
    accumulated_gain_[cell.chunk] += times * gain;
    count_gain(uses_.back(), tiers, times);
    if (tiers.is_on(cell.chunk, tiers.fast)) {
      lost_[cell.chunk] = 0;
    } else if (tiers.is_on(cell.chunk, tiers.slow)) {
      lost_[cell.chunk] += times * gain;
      if (lost_[cell.chunk] >= cost(tiers, cell.chunk, tiers.slow, tiers.fast)) candidates_.push_back(cell.chunk);
    }
  }
  sweeps_.on_segment(uses_, *tiers.chunks);
  ahead_.insert(ahead_.end(), sweeps_.next().begin(), sweeps_.next().end());
}

// Counts the gain of an earlier move that the chunk's use confirms, or its loss if the chunk was evicted.
void EarlyMoveSelector::count_gain(const SweepDetector::Use& use, const Tiers& tiers, double times) {
  const auto to = sent_to_[use.chunk];
  if (to == k_no_place || !tiers.is_on(use.chunk, to)) return;
  gained_ += (to == tiers.fast ? times : -times) * use.gain;
}

std::vector<transfer::TransferRequest> EarlyMoveSelector::select_moves(const Tiers& tiers, Seconds budget) {
  if (!has_residents_) find_residents(tiers);
  for (const auto chunk : std::exchange(requested_, {}))
    if (tiers.is_on(chunk, tiers.fast)) admit(chunk, tiers);  // else the system refused to move it
  Selection selection{tiers, tiers.free, {}, budget.value + gained_};
  prefetch_sweeps(selection);
  promote_paid(selection);
  sent_to_.resize(std::max(sent_to_.size(), tiers.chunks->size()), k_no_place);
  for (const auto& move : selection.moves) {
    if (move.to == tiers.fast && !is_prefetched(move.chunk)) requested_.push_back(move.chunk);
    gained_ -= cost(tiers, move.chunk, move.to == tiers.fast ? tiers.slow : tiers.fast, move.to);
    sent_to_[move.chunk] = move.to;
  }
  return std::move(selection.moves);
}

// Makes room for the chunk by evicting chunks that are worth less by the cost of both moves. Returns false, and
// evicts none of them, if there are too few or if the moves exceed selection.credit.
bool EarlyMoveSelector::make_room(Selection& selection, ChunkId chunk, double worth, bool is_prefetch) {
  const auto& tiers = selection.tiers;
  const auto size = tiers.size(chunk);
  const auto both = both_ways(tiers, chunk);
  auto price = cost(tiers, chunk, tiers.slow, tiers.fast);
  Bytes early;
  std::erase_if(prefetched_, [&](const PrefetchedChunk& one) {
    const bool there = tiers.is_on(one.chunk, tiers.fast);
    if (!there && one.promoted_in < sweeps_.segment()) return true;  // it was freed, or its move was rejected
    const bool passed = there && selection.free < size && has_passed(one);
    if (passed) {
      selection.free += tiers.size(one.chunk);
      selection.moves.push_back({one.chunk, tiers.slow});
    } else {
      early += tiers.size(one.chunk);
    }
    return passed;
  });
  if (is_prefetch &&
      static_cast<double>((early + size).value) > k_max_early * static_cast<double>(tiers.capacity.value))
    return false;
  auto free = selection.free;
  std::vector<ChunkId> going;
  while (free < size) {
    const auto* least = min_worth(tiers);
    if (least != nullptr) price += cost(tiers, least->chunk, tiers.fast, tiers.slow);
    if (least == nullptr || least->worth + both > worth || price > selection.credit) {
      for (const auto other : going) admit(other, tiers);  // too little can be evicted: all stay
      return false;
    }
    free += tiers.size(least->chunk);
    going.push_back(least->chunk);
    pop_resident();
  }
  if (price > selection.credit) return false;
  selection.credit -= price;
  selection.free = free;
  for (const auto other : going) selection.moves.push_back({other, tiers.slow});
  return true;
}

// Returns whether the sweep has passed the prefetched chunk: it is no longer used, or was not used for so long
// that the sweep must have ended before it. If a sweep takes many segments per chunk, samples miss some.
bool EarlyMoveSelector::has_passed(const PrefetchedChunk& one) const {
  if (sweeps_.in_use(one.chunk)) return false;
  const auto last = sweeps_.last_use(one.chunk);
  if (last > one.promoted_in) return sweeps_.segment() > last + one.segments / SweepDetector::k_gap_divisor;
  return sweeps_.segment() > one.promoted_in + std::max(k_patience, k_ahead * one.segments);
}

// Prefetches the chunks that sweeps use next, if their use pays for both copies. If the copies take longer than
// the segment, the remaining chunks wait until that time has passed (credit_).
void EarlyMoveSelector::prefetch_sweeps(Selection& selection) {
  const auto& tiers = selection.tiers;
  auto kept = ahead_.begin();
  for (const auto& use : ahead_) {
    const auto bytes = static_cast<double>(tiers.size(use.chunk).value);
    const auto both = both_ways(tiers, use.chunk);
    if (!tiers.is_on(use.chunk, tiers.slow) || is_prefetched(use.chunk) || sweeps_.in_use(use.chunk) ||
        use.gain < bytes * both)
      continue;
    // Compares gain rates: a resident has gained its worth in all segments so far, this one gains during its stay.
    const auto rate = (use.gain / bytes - both) / (k_stay * use.segments);
    const auto worth = both + rate * sweeps_.segment();
    if (credit_ <= 0 || !make_room(selection, use.chunk, worth, true)) {
      *kept++ = use;
      continue;
    }
    credit_ -= bytes * both;
    selection.free -= tiers.size(use.chunk);
    selection.moves.push_back({use.chunk, tiers.fast});
    prefetched_.push_back({use.chunk, sweeps_.segment(), use.segments});
  }
  ahead_.erase(kept, ahead_.end());
}

// Promotes the candidates, whose loss in slow memory has paid for the move, the most worth per byte first.
void EarlyMoveSelector::promote_paid(Selection& selection) {
  const auto& tiers = selection.tiers;
  std::sort(candidates_.begin(), candidates_.end());
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
  std::erase_if(candidates_,
                [&](ChunkId chunk) { return !tiers.is_on(chunk, tiers.slow) || is_prefetched(chunk); });
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [&](ChunkId a, ChunkId b) { return worth(a, tiers) > worth(b, tiers); });
  for (const auto chunk : candidates_) {
    if (!make_room(selection, chunk, worth(chunk, tiers), false)) break;
    selection.free -= tiers.size(chunk);
    selection.moves.push_back({chunk, tiers.fast});
  }
  candidates_.clear();
}

double EarlyMoveSelector::cost(const Tiers& tiers, ChunkId chunk, PlaceId from, PlaceId to) const {
  if (cost_) return cost_(chunk, from, to).value;
  return static_cast<double>(tiers.size(chunk).value) / machine_.copy_bandwidth(from, to).value;
}

// Returns the cost of promotion and demotion, in seconds per byte.
double EarlyMoveSelector::both_ways(const Tiers& tiers, ChunkId chunk) const {
  const auto seconds = cost(tiers, chunk, tiers.slow, tiers.fast) + cost(tiers, chunk, tiers.fast, tiers.slow);
  return seconds / static_cast<double>(tiers.size(chunk).value);
}

bool EarlyMoveSelector::is_prefetched(ChunkId chunk) const {
  return std::ranges::find(prefetched_, chunk, &PrefetchedChunk::chunk) != prefetched_.end();
}

void EarlyMoveSelector::find_residents(const Tiers& tiers) {
  has_residents_ = true;
  for (ChunkId chunk = 0; chunk < tiers.chunks->size(); ++chunk)
    if (tiers.is_on(chunk, tiers.fast)) admit(chunk, tiers);
}

void EarlyMoveSelector::admit(ChunkId chunk, const Tiers& tiers) {
  residents_.push_back({chunk, worth(chunk, tiers)});
  std::push_heap(residents_.begin(), residents_.end(), [](auto a, auto b) { return a.worth > b.worth; });
}

void EarlyMoveSelector::pop_resident() {
  std::pop_heap(residents_.begin(), residents_.end(), [](auto a, auto b) { return a.worth > b.worth; });
  residents_.pop_back();
}

// Returns the resident with the least worth. Worth only grows, so entries whose worth has grown are reinserted
// (lazy heap).
const EarlyMoveSelector::Resident* EarlyMoveSelector::min_worth(const Tiers& tiers) {
  while (!residents_.empty()) {
    const auto [chunk, then] = residents_.front();
    if (!tiers.is_on(chunk, tiers.fast)) {  // no longer resident
      pop_resident();
    } else if (worth(chunk, tiers) > then) {
      pop_resident();
      admit(chunk, tiers);
    } else {
      return &residents_.front();
    }
  }
  return nullptr;
}

}  // namespace terrace::strategy
