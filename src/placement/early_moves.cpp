// Rent or buy. See early_moves.hpp.
#include "placement/early_moves.hpp"

#include <algorithm>
#include <utility>

namespace terrace::placement {

using memory::ChunkId;

namespace {

// Seconds that a line of each sort takes of a place's bandwidth, and an exposed access of the core's time.
struct Prices {
  double read, write, exposed;
};

Prices prices(const machine::Machine& machine, machine::InitiatorId initiator, machine::PlaceId place) {
  const auto& path = machine.path(initiator, place);
  const auto line = static_cast<double>(machine.parts().line.value);
  return {line / path.read.value, line / path.write.value, path.latency.value};
}

double busy(const profile::Cell& cell, const Prices& of) {
  return cell.read_lines * of.read + cell.write_lines * of.write;
}

}  // namespace

// By the time law: what the stretch took was the stalls of the core, or the place that was busiest.
void EarlyMoves::passed(const profile::Phase& stretch, const Tiers& tiers) {
  const auto fast = prices(machine_, initiator_, tiers.fast);
  const auto slow = prices(machine_, initiator_, tiers.slow);
  double stalled = stretch.core.value, slow_busy = 0;
  for (const auto& cell : stretch.cells) {
    const bool in_slow = tiers.on(cell.chunk, tiers.slow);
    stalled += cell.exposure * (in_slow ? slow : fast).exposed;
    if (in_slow) slow_busy += busy(cell, slow);
  }
  const auto to_fast = machine_.copy_bandwidth(tiers.slow, tiers.fast).value;
  for (const auto& cell : stretch.cells) {
    const auto gain =
        slow_busy > stalled ? busy(cell, slow) - busy(cell, fast) : cell.exposure * (slow.exposed - fast.exposed);
    if (gain <= 0) continue;
    if (cell.chunk >= paid_.size()) paid_.resize(cell.chunk + std::size_t{1}, 0);
    paid_[cell.chunk] += gain;
    if (tiers.on(cell.chunk, tiers.slow) && worth(cell.chunk, tiers) * to_fast >= 1)
      wanting_.push_back(cell.chunk);
  }
}

std::vector<backend::TransferRequest> EarlyMoves::wishes(const Tiers& tiers) {
  std::vector<backend::TransferRequest> moves;
  if (!found_) find_residents(tiers);
  for (const auto chunk : std::exchange(coming_, {}))
    if (tiers.on(chunk, tiers.fast)) admit(chunk, tiers);  // else the system refused to move it
  const auto both_copies = 1 / machine_.copy_bandwidth(tiers.slow, tiers.fast).value +
                           1 / machine_.copy_bandwidth(tiers.fast, tiers.slow).value;
  std::sort(wanting_.begin(), wanting_.end());
  wanting_.erase(std::unique(wanting_.begin(), wanting_.end()), wanting_.end());
  std::erase_if(wanting_, [&](ChunkId chunk) { return !tiers.on(chunk, tiers.slow); });
  std::stable_sort(wanting_.begin(), wanting_.end(),
                   [&](ChunkId a, ChunkId b) { return worth(a, tiers) > worth(b, tiers); });
  auto free = tiers.free;
  for (const auto chunk : wanting_) {
    const auto size = tiers.size(chunk);
    while (free < size) {
      const auto* least = least_worth(tiers);
      if (least == nullptr || least->worth + both_copies > worth(chunk, tiers)) break;
      free += tiers.size(least->chunk);
      moves.push_back({least->chunk, tiers.slow});
      expel_one();
    }
    if (free < size) break;
    free -= size;
    moves.push_back({chunk, tiers.fast});
  }
  wanting_.clear();
  for (const auto& move : moves)
    if (move.to == tiers.fast) coming_.push_back(move.chunk);
  return moves;
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
const EarlyMoves::Resident* EarlyMoves::least_worth(const Tiers& tiers) {
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

}  // namespace terrace::placement
