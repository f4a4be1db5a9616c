// SPDX-License-Identifier: Apache-2.0
// Computes the time of a program's quanta (batches of one thread's accesses) and transfers on a simulated machine.
// The runtime calls it in `terrace simulate`, `record` and `replay`. See virtual_machine.hpp.
#include "sim/engine/virtual_machine.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::sim {

TimeAccount operator-(TimeAccount later, const TimeAccount& earlier) {
  later.core -= earlier.core;
  later.exposed -= earlier.exposed;
  later.bandwidth_bound -= earlier.bandwidth_bound;
  later.stalled -= earlier.stalled;
  later.waited -= earlier.waited;
  later.charged -= earlier.charged;
  later.carried -= earlier.carried;
  later.accesses -= earlier.accesses;
  later.instructions -= earlier.instructions;
  later.misses -= earlier.misses;
  return later;
}

VirtualMachine::VirtualMachine(const machine::Machine& machine, InitiatorId initiator, double cores,
                               memory::ChunkTable& chunks, memory::Ledger& ledger)
    : machine_(machine),
      initiator_(initiator),
      law_(machine, initiator, cores),
      chunks_(chunks),
      ledger_(ledger),
      engine_(machine, law_, chunks, ledger),
      use_(machine.places().size()),
      by_place_(machine.places().size()) {}

// --- time -------------------------------------------------------------------------------------------------------

void VirtualMachine::on_tally(const observe::Quantum& quantum, const observe::Tally& tally) {
  account_.accesses += quantum.accesses;
  account_.instructions += quantum.instructions;

  set_running(quantum.thread);
  charge_stalls();
  catch_up_copies();
  // After what may complete transfers: from here on each that completes moves its chunk's traffic
  // (on_copy_complete()).
  const auto missed = account_.misses;
  set_traffic(quantum, tally);
  use_.begin_quantum(quantum, account_.misses - missed);
  const auto core = law_.cost().core_time(quantum);
  law_.price(core, by_place_, demand_);
  if (spill_) return price_out_of_core(quantum, core, tally);
  wait_for_copy_in_use(core, tally);
  const bool copies_are_ahead = engine_.running() != nullptr && copied_until_ > now();
  if (is_multithreaded_ || copies_are_ahead)
    price_under_contention(core, tally);
  else
    price_single_thread(core, tally);
  charge_stalls();
  if (!engine_.sentinels().empty()) trigger_sentinels(tally);
}

// The accessing thread pays the full cost: the trap, the remapping of the chunk's pages before, and now back.
void VirtualMachine::trigger_sentinels(const observe::Tally& tally) {
  const auto untouched = [&](ChunkId chunk) { return tally.find(chunk) == nullptr; };
  if (std::ranges::all_of(engine_.sentinels(), untouched)) return;
  for (const auto chunk : std::vector(engine_.sentinels())) {
    if (untouched(chunk)) continue;
    const auto cost = machine::sentinel_time(law_.copier(), Bytes{chunks_[chunk].size});
    advance_copies(cost);
    account_.stalled += cost;
    engine_.on_sentinel_access(chunk);
    catch_up_copies();
  }
}

// Sets by_place_ to the traffic of the quantum on each place.
void VirtualMachine::set_traffic(const observe::Quantum& quantum, const observe::Tally& tally) {
  std::fill(by_place_.begin(), by_place_.end(), observe::ChunkTraffic{});
  account_.misses += tally.unowned().read();
  if (!cache_) by_place_[law_.view().unowned()] += tally.unowned();
  for (const auto& [chunk, traffic] : tally.chunks()) {
    touch(chunk);
    account_.misses += traffic.read();
    if (!cache_) by_place_[law_.view().place_of(chunks_[chunk])] += traffic;
  }
  if (cache_) cache_->add_traffic(quantum, law_.view(), by_place_);
}

void VirtualMachine::enable_cache_mode(DomainId domain, Bytes capacity) {
  cache_ = std::make_unique<MemoryCache>(chunks_, machine_.fastest_first(domain).front(), machine_.home(domain),
                                         capacity, machine_.parts().line);
}

void VirtualMachine::advance_clock(double seconds, double progress, double pace) {
  const auto own = (demand_.core + demand_.exposed) * progress;
  const auto lent = std::clamp(own * (1 / pace - 1), 0.0, std::max(0.0, seconds - own));
  clocks_[running_] += Seconds{seconds};
  use_.add_progress(law_, by_place_, demand_, progress);
  account_.core += Seconds{demand_.core * progress};
  account_.exposed += Seconds{demand_.exposed * progress};
  account_.stalled += Seconds{lent};
  account_.bandwidth_bound += Seconds{seconds - own - lent};
}

// Completes the running transfer: the rest of the quantum's traffic on the chunk falls on its new place.
void VirtualMachine::on_copy_complete(Seconds core, const observe::Tally& tally) {
  const auto copied = complete();
  if (const auto* traffic = tally.find(copied.chunk)) {
    by_place_[copied.from] -= *traffic;
    by_place_[copied.to] += *traffic;
    law_.price(core, by_place_, demand_);
  }
}

transfer::TransferResult VirtualMachine::complete() {
  const auto done = engine_.complete(copied_until_);
  stalls_ += machine::stall_time(law_.copier(), done.size);
  return done;
}

// Waits for the chunk in flight if the quantum reads it and the copier blocks accesses.
void VirtualMachine::wait_for_copy_in_use(Seconds core, const observe::Tally& tally) {
  const auto& trap = law_.copier().trap;
  if (!trap) return;
  while (const auto* running = engine_.running()) {
    const auto* traffic = tally.find(running->result.chunk);
    if (running->result.begun > now() || traffic == nullptr || traffic->read() == 0) return;
    copied_until_ += Seconds{running->left / running->demand.rate};
    on_copy_complete(core, tally);
    wait_until(copied_until_);
    clocks_[running_] += *trap;
    account_.stalled += *trap;
  }
}

// Charges the running thread with the stalls of completed transfers. Those that complete meanwhile are charged the
// next time.
void VirtualMachine::charge_stalls() {
  const auto owed = stalls_ - stalls_paid_[running_];
  if (owed.value <= 0) return;
  stalls_paid_[running_] = stalls_;
  advance_copies(owed);
  account_.stalled += owed;
}

// Waives stalls for the time that the thread was blocked while transfers completed.
void VirtualMachine::waive_stalls(std::uint32_t thread, Seconds waited) {
  stalls_paid_[thread] += std::min(stalls_ - stalls_paid_[thread], waited);
}

// Advances the clock by a quantum of a program with one thread, split where a transfer completes or becomes due.
void VirtualMachine::price_single_thread(Seconds core, const observe::Tally& tally) {
  double progress_left = 1;  // of the quantum
  for (;;) {
    auto* running = engine_.running();
    if (running == nullptr) {
      const auto due = engine_.next_due();
      if (!due || progress_left * demand_.longest() <= (*due - now()).value) break;
      const auto progress = std::max(0.0, (*due - now()).value) / demand_.longest();
      advance_clock(progress * demand_.longest(), progress);
      progress_left -= progress;
      clocks_[running_] = std::max(now(), *due);  // exact to the last digit
      catch_up_copies();
      wait_for_copy_in_use(core, tally);
      continue;
    }
    const auto copy = limited(running->demand);
    const auto speeds = share(demand_, copy);
    const auto until_end = progress_left / speeds.program;
    const auto until_copied = running->left / speeds.copy;
    if (until_end < until_copied) {
      running->left = std::max(0.0, running->left - until_end * speeds.copy);
      advance_clock(until_end, progress_left, copy.pace);
      copied_until_ = now();
      return;
    }
    const auto progress = std::min(progress_left, until_copied * speeds.program);
    advance_clock(until_copied, progress, copy.pace);
    progress_left -= progress;
    copied_until_ = now();
    on_copy_complete(core, tally);
    wait_for_copy_in_use(core, tally);
  }
  advance_clock(progress_left * demand_.longest(), progress_left);
}

// Advances the copies while the program stands still. Those that another thread's quantum has simulated further
// already are left alone.
void VirtualMachine::advance_copies(Seconds duration) {
  const auto end = now() + duration;
  catch_up_copies();
  for (;;) {
    auto* running = engine_.running();
    if (running == nullptr) {
      const auto due = engine_.next_due();
      if (!due || *due > end) break;
      copied_until_ = std::max(copied_until_, *due);
      engine_.start(copied_until_);
      continue;
    }
    const auto rate = limited(running->demand).rate;
    const Seconds until_copied{running->left / rate};
    if (copied_until_ + until_copied > end) {
      if (end > copied_until_) {
        running->left = std::max(0.0, running->left - (end - copied_until_).value * rate);
        copied_until_ = end;
      }
      break;
    }
    finish_running(rate_of_running());
  }
  clocks_[running_] = end;
}

void VirtualMachine::finish_running(double rate) {
  const auto* running = engine_.running();
  copied_until_ += Seconds{running->left / (running->demand.rate * rate)};
  complete();
}

void VirtualMachine::wait_until(Seconds time) {
  const auto waited = std::max(time - now(), Seconds{});
  clocks_[running_] = std::max(now(), time);
  account_.waited += waited;
  waive_stalls(running_, waited);
}

// Returns the share of their cores that the program's threads keep while background work runs: all of them give up
// the same share if no core is free.
double VirtualMachine::background_pace() const {
  return law_.free_cores(alive_) >= 1 ? 1 : law_.shared_pace(alive_);
}

void VirtualMachine::charge(Seconds cost) {
  if (!std::isfinite(cost.value) || cost.value <= 0) return;
  advance_copies(cost);
  account_.charged += cost;
}

void VirtualMachine::advance_unobserved(Seconds time) {
  if (!std::isfinite(time.value) || time.value <= 0) return;
  advance_copies(time);
  account_.carried += time;
}

// --- memory -----------------------------------------------------------------------------------------------------

// Places a chunk at its first access, as the kernel would: at home, or where most is free if home is full.
void VirtualMachine::touch(ChunkId id) {
  if (id >= touched_.size()) touched_.resize(std::max<std::size_t>(chunks_.size(), id + 1), false);
  if (touched_[id]) return;
  touched_[id] = true;
  auto& chunk = chunks_[id];
  if (chunk.place.load(std::memory_order_relaxed) != k_no_place) return;
  auto place = law_.view().home(chunk.domain);
  if (!ledger_.take(place, Bytes{chunk.size})) {
    for (const auto other : machine_.domains()[chunk.domain].places)
      if (law_.view().reaches(other) && ledger_.available(other) > ledger_.available(place)) place = other;
    // Without capacity anywhere the program has more data than the machine has memory; the ledger stays full.
    (void)ledger_.take(place, Bytes{chunk.size});
  }
  chunks_.put(chunk, place);
}

bool VirtualMachine::bind(ChunkId first, std::uint32_t count, PlaceId place) {
  if (place >= machine_.places().size() || !law_.view().reaches(place)) return false;
  for (auto id = first; id < first + count; ++id)
    if (machine_.place(place).domain != chunks_[id].domain) return false;
  for (auto id = first; id < first + count; ++id) chunks_.put(chunks_[id], place);
  return true;
}

PlaceId VirtualMachine::where(ChunkId chunk) {
  return chunk < touched_.size() && touched_[chunk] ? chunks_[chunk].place.load(std::memory_order_relaxed)
                                                    : k_no_place;
}

// --- transfers --------------------------------------------------------------------------------------------------

transfer::Ticket VirtualMachine::submit(std::span<const transfer::TransferRequest> requests) {
  start_due_copies();
  if (engine_.running() == nullptr) copied_until_ = now();
  return engine_.submit(requests, now());
}

double VirtualMachine::rate_of_running() const {
  const auto own = engine_.running()->rate;
  return own > 0 ? own : rate_limit_;
}

CopyDemand VirtualMachine::limited(CopyDemand copy) const {
  const auto rate = rate_of_running();
  copy.rate *= rate;
  copy.pace = 1 - (1 - copy.pace) * rate;
  return copy;
}

void VirtualMachine::limit_rate(double share) {
  if (share == rate_limit_) return;
  catch_up_copies();
  rate_limit_ = share;
}

void VirtualMachine::expedite_pending() {
  catch_up_copies();
  engine_.expedite_pending();
  catch_up_copies();
}

void VirtualMachine::wait(transfer::Ticket ticket) {
  catch_up_copies();
  engine_.expedite_pending(ticket);
  catch_up_copies();
  while (!engine_.done(ticket)) {
    if (engine_.running() != nullptr) {
      finish_running(1);
      wait_until(copied_until_);
    } else {
      engine_.refuse_head(now());  // the program waits, so nothing will free capacity
    }
  }
  charge_stalls();
}

void VirtualMachine::forget(ChunkId first, std::uint32_t count) {
  if (spill_) release_file(first);
  start_due_copies();
  if (engine_.running() == nullptr) copied_until_ = now();
  engine_.cancel_queued(first, count, now());
  if (const auto* running = engine_.running()) {
    const auto chunk = running->result.chunk;
    if (chunk >= first && chunk - first < count) {
      finish_running(1);
      wait_until(copied_until_);
    }
  }
}

}  // namespace terrace::sim
