// Making time of quanta and transfers. See virtual_machine.hpp.
#include "sim/virtual_machine.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::sim {

using machine::PlaceId;
using memory::ChunkId;

TimeAccount operator-(TimeAccount later, const TimeAccount& earlier) {
  later.core -= earlier.core;
  later.exposed -= earlier.exposed;
  later.bandwidth_bound -= earlier.bandwidth_bound;
  later.waited -= earlier.waited;
  later.charged -= earlier.charged;
  later.accesses -= earlier.accesses;
  later.misses -= earlier.misses;
  return later;
}

VirtualMachine::VirtualMachine(const machine::Machine& machine, machine::InitiatorId initiator, double cores,
                               memory::ChunkTable& chunks, memory::Ledger& ledger)
    : machine_(machine),
      law_(machine, initiator, cores),
      chunks_(chunks),
      ledger_(ledger),
      engine_(machine, law_, chunks, ledger),
      by_place_(machine.places().size()) {}

// --- time
// --------------------------------------------------------------------------------------------------------

void VirtualMachine::tallied(const backend::Quantum& quantum, const profile::Tally& tally) {
  std::fill(by_place_.begin(), by_place_.end(), profile::ChunkTraffic{});
  by_place_[law_.view().unowned()] += tally.unowned();
  for (const auto& [chunk, traffic] : tally.chunks()) {
    touch(chunk);
    by_place_[law_.view().place_of(chunks_[chunk])] += traffic;
  }
  account_.accesses += quantum.accesses;
  for (const auto& traffic : by_place_) account_.misses += traffic.read();

  const auto core = law_.cost().core_time(quantum);
  law_.price(core, by_place_, demand_);
  engine_.start(now_);
  double progress_left = 1;  // of the quantum
  const auto pass = [&](double seconds, double progress) {
    now_ += Seconds{seconds};
    account_.core += Seconds{demand_.core * progress};
    account_.exposed += Seconds{demand_.exposed * progress};
    account_.bandwidth_bound += Seconds{seconds - (demand_.core + demand_.exposed) * progress};
  };
  while (auto* running = engine_.running()) {
    const auto speeds = share(demand_, running->demand);
    const auto until_end = progress_left / speeds.program;
    const auto until_copied = running->left / speeds.copy;
    if (until_end < until_copied) {
      running->left = std::max(0.0, running->left - until_end * speeds.copy);
      pass(until_end, progress_left);
      return;
    }
    const auto progress = std::min(progress_left, until_copied * speeds.program);
    pass(until_copied, progress);
    progress_left -= progress;
    const auto copied = engine_.complete(now_);
    if (const auto* traffic = tally.find(copied.chunk)) {
      by_place_[copied.from] -= *traffic;
      by_place_[copied.to] += *traffic;
      law_.price(core, by_place_, demand_);
    }
  }
  pass(progress_left * demand_.longest(), progress_left);
}

void VirtualMachine::advance_copies(Seconds duration) {
  const auto end = now_ + duration;
  engine_.start(now_);
  while (auto* running = engine_.running()) {
    const Seconds until_copied{running->left / running->demand.rate};
    if (now_ + until_copied > end) {
      running->left = std::max(0.0, running->left - (end - now_).value * running->demand.rate);
      break;
    }
    finish_running();
  }
  now_ = end;
}

Seconds VirtualMachine::finish_running() {
  const auto* running = engine_.running();
  const Seconds duration{running->left / running->demand.rate};
  now_ += duration;
  engine_.complete(now_);
  return duration;
}

void VirtualMachine::charge(Seconds cost) {
  if (!std::isfinite(cost.value) || cost.value <= 0) return;
  advance_copies(cost);
  account_.charged += cost;
}

// --- memory
// ------------------------------------------------------------------------------------------------------

void VirtualMachine::touch(ChunkId id) {
  if (id >= touched_.size()) touched_.resize(std::max<std::size_t>(chunks_.size(), id + 1), false);
  if (touched_[id]) return;
  touched_[id] = true;
  auto& chunk = chunks_[id];
  if (chunk.place.load(std::memory_order_relaxed) != machine::k_no_place) return;
  auto place = law_.view().home(chunk.domain);
  if (!ledger_.take(place, Bytes{chunk.size})) {
    for (const auto other : machine_.domains()[chunk.domain].places)
      if (law_.view().reaches(other) && ledger_.available(other) > ledger_.available(place)) place = other;
    // Without room anywhere the program has more data than the machine has memory, and the account stays full.
    (void)ledger_.take(place, Bytes{chunk.size});
  }
  chunk.place.store(place, std::memory_order_relaxed);
}

bool VirtualMachine::settle(ChunkId first, std::uint32_t count, PlaceId place) {
  if (place >= machine_.places().size() || !law_.view().reaches(place)) return false;
  for (auto id = first; id < first + count; ++id)
    if (machine_.place(place).domain != chunks_[id].domain) return false;
  for (auto id = first; id < first + count; ++id) chunks_[id].place.store(place, std::memory_order_relaxed);
  return true;
}

PlaceId VirtualMachine::where(ChunkId chunk) {
  return chunk < touched_.size() && touched_[chunk] ? chunks_[chunk].place.load(std::memory_order_relaxed)
                                                    : machine::k_no_place;
}

// --- transfers
// ---------------------------------------------------------------------------------------------------

backend::Ticket VirtualMachine::submit(std::span<const backend::TransferRequest> requests) {
  return engine_.submit(requests, now_);
}

void VirtualMachine::wait(backend::Ticket ticket) {
  engine_.start(now_);
  while (!engine_.done(ticket)) {
    if (engine_.running() != nullptr) {
      account_.waited += finish_running();
    } else {
      engine_.refuse_head(now_);  // the program stands still: nobody will make room
    }
  }
}

void VirtualMachine::forget(ChunkId first, std::uint32_t count) {
  engine_.forget_queued(first, count, now_);
  if (const auto* running = engine_.running()) {
    const auto chunk = running->result.chunk;
    if (chunk >= first && chunk - first < count) account_.waited += finish_running();
  }
}

}  // namespace terrace::sim
