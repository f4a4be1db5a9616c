// Rent or buy. See early_moves.hpp.
#include "strategy/learning/early_moves.hpp"

#include <algorithm>
#include <utility>

namespace terrace::strategy {

namespace {

constexpr double k_max_early = 0.125;     // of fast memory
constexpr double k_stay = 3;              // times as long as it is used
constexpr std::uint32_t k_patience = 64;  // stretches for which a chunk brought early waits for its use, at least
constexpr std::uint32_t k_ahead = 4;      // times as long as it will be used: an early chunk comes two before it

// Seconds that a line of each sort takes of a place's bandwidth, and an exposed access of the core's time.
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

// By the time law: what the stretch took was the stalls of the core, or the place that was busiest.
void EarlyMoves::passed(const observe::Phase& stretch, const Tiers& tiers, double times) {
  const auto fast = prices(machine_, initiator_, tiers.fast);
  const auto slow = prices(machine_, initiator_, tiers.slow);
  double stalled = stretch.core.value, slow_busy = 0;
  for (const auto& cell : stretch.cells) {
    const bool in_slow = tiers.on(cell.chunk, tiers.slow);
    stalled += cell.exposure * (in_slow ? slow : fast).exposed;
    if (in_slow) slow_busy += busy(cell, slow);
  }
  credit_ = std::min(credit_, 0.0) + times * stretch.time.value;
  uses_.clear();
  for (const auto& cell : stretch.cells) {
    const auto gain =
        slow_busy > stalled ? busy(cell, slow) - busy(cell, fast) : cell.exposure * (slow.exposed - fast.exposed);
    if (gain <= 0) continue;  // what is only written back, say, long after a sweep passed
    uses_.push_back({cell.chunk, gain, 1});
    if (cell.chunk >= paid_.size()) {
      paid_.resize(cell.chunk + std::size_t{1}, 0);
      lost_.resize(paid_.size(), 0);
      sent_to_.resize(paid_.size(), k_no_place);
    }
    paid_[cell.chunk] += times * gain;
    count_gain(uses_.back(), tiers, times);
    if (tiers.on(cell.chunk, tiers.fast)) {
      lost_[cell.chunk] = 0;
    } else if (tiers.on(cell.chunk, tiers.slow)) {
      lost_[cell.chunk] += times * gain;
      if (lost_[cell.chunk] >= cost(tiers, cell.chunk, tiers.slow, tiers.fast)) wanting_.push_back(cell.chunk);
    }
  }
  sweeps_.passed(uses_, *tiers.chunks);
  ahead_.insert(ahead_.end(), sweeps_.next().begin(), sweeps_.next().end());
}

void EarlyMoves::count_gain(const Sweeps::Use& use, const Tiers& tiers, double times) {
  const auto to = sent_to_[use.chunk];
  if (to == k_no_place || !tiers.on(use.chunk, to)) return;
  gained_ += (to == tiers.fast ? times : -times) * use.gain;
}

std::vector<transfer::TransferRequest> EarlyMoves::choose(const Tiers& tiers, Seconds budget) {
  if (!found_) find_residents(tiers);
  for (const auto chunk : std::exchange(coming_, {}))
    if (tiers.on(chunk, tiers.fast)) admit(chunk, tiers);  // else the system refused to move it
  Making making{tiers, tiers.free, {}, budget.value + gained_};
  bring_ahead(making);
  bring_what_paid(making);
  sent_to_.resize(std::max(sent_to_.size(), tiers.chunks->size()), k_no_place);
  for (const auto& move : making.moves) {
    if (move.to == tiers.fast && !is_guest(move.chunk)) coming_.push_back(move.chunk);
    gained_ -= cost(tiers, move.chunk, move.to == tiers.fast ? tiers.slow : tiers.fast, move.to);
    sent_to_[move.chunk] = move.to;
  }
  return std::move(making.moves);
}

// Makes room for the chunk by evicting chunks that are worth less by the cost of both moves. Returns false, and
// evicts none of them, if there are too few or if the moves exceed making.credit.
bool EarlyMoves::make_room(Making& making, ChunkId chunk, double worth, bool for_guest) {
  const auto& tiers = making.tiers;
  const auto size = tiers.size(chunk);
  const auto both = both_ways(tiers, chunk);
  auto price = cost(tiers, chunk, tiers.slow, tiers.fast);
  Bytes early;
  std::erase_if(early_, [&](const EarlyChunk& one) {
    const bool there = tiers.on(one.chunk, tiers.fast);
    if (!there && one.came < sweeps_.stretch()) return true;  // it is gone, or the system refused to move it
    const bool passed = there && making.free < size && has_passed(one);
    if (passed) {
      making.free += tiers.size(one.chunk);
      making.moves.push_back({one.chunk, tiers.slow});
    } else {
      early += tiers.size(one.chunk);
    }
    return passed;
  });
  if (for_guest &&
      static_cast<double>((early + size).value) > k_max_early * static_cast<double>(tiers.capacity.value))
    return false;
  auto free = making.free;
  std::vector<ChunkId> going;
  while (free < size) {
    const auto* least = min_worth(tiers);
    if (least != nullptr) price += cost(tiers, least->chunk, tiers.fast, tiers.slow);
    if (least == nullptr || least->worth + both > worth || price > making.credit) {
      for (const auto other : going) admit(other, tiers);  // too little goes for it: all stay
      return false;
    }
    free += tiers.size(least->chunk);
    going.push_back(least->chunk);
    expel_one();
  }
  if (price > making.credit) return false;
  making.credit -= price;
  making.free = free;
  for (const auto other : going) making.moves.push_back({other, tiers.slow});
  return true;
}

// It was used and is no more, or was not used for so long that its sweep must have ended before it. Where a sweep
// takes many stretches for a chunk, samples leave gaps of some.
bool EarlyMoves::has_passed(const EarlyChunk& one) const {
  if (sweeps_.in_use(one.chunk)) return false;
  const auto last = sweeps_.last_use(one.chunk);
  if (last > one.came) return sweeps_.stretch() > last + one.stretches / Sweeps::k_lull;
  return sweeps_.stretch() > one.came + std::max(k_patience, k_ahead * one.stretches);
}

// What a sweep uses next stays for as long as it is used, if that pays for both copies. The copies of one stretch
// may take longer than it; then what comes next waits until so much time has passed.
void EarlyMoves::bring_ahead(Making& making) {
  const auto& tiers = making.tiers;
  auto kept = ahead_.begin();
  for (const auto& use : ahead_) {
    const auto bytes = static_cast<double>(tiers.size(use.chunk).value);
    const auto both = both_ways(tiers, use.chunk);
    if (!tiers.on(use.chunk, tiers.slow) || is_guest(use.chunk) || sweeps_.in_use(use.chunk) ||
        use.gain < bytes * both)
      continue;
    // What a resident has gained in all, this gains in the time in which it comes, is used and goes.
    const auto rate = (use.gain / bytes - both) / (k_stay * use.stretches);
    const auto worth = both + rate * sweeps_.stretch();
    if (credit_ <= 0 || !make_room(making, use.chunk, worth, true)) {
      *kept++ = use;
      continue;
    }
    credit_ -= bytes * both;
    making.free -= tiers.size(use.chunk);
    making.moves.push_back({use.chunk, tiers.fast});
    early_.push_back({use.chunk, sweeps_.stretch(), use.stretches});
  }
  ahead_.erase(kept, ahead_.end());
}

void EarlyMoves::bring_what_paid(Making& making) {
  const auto& tiers = making.tiers;
  std::sort(wanting_.begin(), wanting_.end());
  wanting_.erase(std::unique(wanting_.begin(), wanting_.end()), wanting_.end());
  std::erase_if(wanting_, [&](ChunkId chunk) { return !tiers.on(chunk, tiers.slow) || is_guest(chunk); });
  std::stable_sort(wanting_.begin(), wanting_.end(),
                   [&](ChunkId a, ChunkId b) { return worth(a, tiers) > worth(b, tiers); });
  for (const auto chunk : wanting_) {
    if (!make_room(making, chunk, worth(chunk, tiers), false)) break;
    making.free -= tiers.size(chunk);
    making.moves.push_back({chunk, tiers.fast});
  }
  wanting_.clear();
}

double EarlyMoves::cost(const Tiers& tiers, ChunkId chunk, PlaceId from, PlaceId to) const {
  if (cost_) return cost_(chunk, from, to).value;
  return static_cast<double>(tiers.size(chunk).value) / machine_.copy_bandwidth(from, to).value;
}

// Seconds a byte, there and back.
double EarlyMoves::both_ways(const Tiers& tiers, ChunkId chunk) const {
  const auto seconds = cost(tiers, chunk, tiers.slow, tiers.fast) + cost(tiers, chunk, tiers.fast, tiers.slow);
  return seconds / static_cast<double>(tiers.size(chunk).value);
}

bool EarlyMoves::is_guest(ChunkId chunk) const {
  return std::ranges::find(early_, chunk, &EarlyChunk::chunk) != early_.end();
}

void EarlyMoves::find_residents(const Tiers& tiers) {
  found_ = true;
  for (ChunkId chunk = 0; chunk < tiers.chunks->size(); ++chunk)
    if (tiers.on(chunk, tiers.fast)) admit(chunk, tiers);
}

void EarlyMoves::admit(ChunkId chunk, const Tiers& tiers) {
  residents_.push_back({chunk, worth(chunk, tiers)});
  std::push_heap(residents_.begin(), residents_.end(), [](auto a, auto b) { return a.worth > b.worth; });
}

void EarlyMoves::expel_one() {
  std::pop_heap(residents_.begin(), residents_.end(), [](auto a, auto b) { return a.worth > b.worth; });
  residents_.pop_back();
}

// Worth only grows: whose has grown since it was put here takes its new place, and the next one is looked at.
const EarlyMoves::Resident* EarlyMoves::min_worth(const Tiers& tiers) {
  while (!residents_.empty()) {
    const auto [chunk, then] = residents_.front();
    if (!tiers.on(chunk, tiers.fast)) {  // it is gone
      expel_one();
    } else if (worth(chunk, tiers) > then) {
      expel_one();
      admit(chunk, tiers);
    } else {
      return &residents_.front();
    }
  }
  return nullptr;
}

}  // namespace terrace::strategy
