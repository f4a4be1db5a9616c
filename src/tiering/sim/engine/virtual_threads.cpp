// SPDX-License-Identifier: Apache-2.0
// Implements several threads on one virtual machine: their clocks, and a quantum's time under competition for the
// places. Part of VirtualMachine; see virtual_machine.hpp and occupancy.hpp.
#include <algorithm>
#include <limits>

#include "sim/engine/virtual_machine.hpp"

namespace terrace::sim {

std::uint32_t VirtualMachine::thread_index(std::uint32_t thread) {
  if (thread >= clocks_.size()) {
    clocks_.resize(thread + 1);
    stalls_paid_.resize(thread + 1, stalls_);
  }
  return thread;
}

void VirtualMachine::set_num_alive(std::uint32_t threads) {
  is_multithreaded_ = threads > 1;
  alive_ = std::max(threads, 1U);
  engine_.set_num_threads(alive_);
  if (is_multithreaded_ && !occupancy_) occupancy_ = std::make_unique<Occupancy>(machine_.places().size());
}

void VirtualMachine::advance_to(std::uint32_t thread, std::uint32_t other) {
  const auto from = clocks_[thread_index(other)];
  auto& clock = clocks_[thread_index(thread)];
  waive_stalls(thread, std::max(from - clock, Seconds{}));
  clock = std::max(clock, from);
}

void VirtualMachine::synchronize(std::span<const std::uint32_t> threads) {
  Seconds latest;
  for (const auto thread : threads) latest = std::max(latest, clocks_[thread_index(thread)]);
  for (const auto thread : threads) {
    waive_stalls(thread, latest - clocks_[thread]);
    clocks_[thread] = latest;
  }
}

void VirtualMachine::on_unlock(std::uint64_t lock) {
  auto& at = released_[lock];
  at = std::max(at, now());
}

void VirtualMachine::on_lock(std::uint64_t lock) {
  const auto at = released_.find(lock);
  if (at == released_.end() || at->second <= now()) return;
  waive_stalls(running_, at->second - now());
  clocks_[running_] = at->second;
}

// Advances the copies to the running thread's time; if none is in flight, the next one begins here.
void VirtualMachine::catch_up_copies() {
  start_due_copies();
  while (auto* running = engine_.running()) {
    if (copied_until_ >= now()) return;
    // No thread's quantum has covered this time: the copy had the places to itself.
    const auto until_now = (now() - copied_until_).value;
    const auto rate = limited(running->demand).rate;
    if (running->left > until_now * rate) {
      running->left -= until_now * rate;
      copied_until_ = now();
      return;
    }
    finish_running(rate_of_running());
    start_due_copies();
  }
  copied_until_ = now();
  engine_.start(copied_until_);
}

void VirtualMachine::start_due_copies() {
  while (engine_.running() == nullptr) {
    const auto due = engine_.next_due();
    if (!due || *due > now()) return;
    copied_until_ = std::max(copied_until_, *due);
    engine_.start(copied_until_);
  }
}

// Returns the speeds of the current quantum and the running transfer in what others have left of a slot's rest.
Speeds VirtualMachine::speeds_in(const Occupancy::Slot& slot, bool with_copy) const {
  constexpr double k_nothing = 1e-6;  // a smaller rest of a slot counts as none
  const auto now = clocks_[running_];
  const auto free = [&](std::size_t place) {
    const auto share = occupancy_->free_share(slot, now, place);
    return share < k_nothing ? 0.0 : share;
  };
  Demand demand = demand_;
  bool is_blocked = false;
  for (std::size_t place = 0; place < demand.busy.size(); ++place) {
    if (demand.busy[place] <= 0) continue;
    const auto share = free(place);
    if (share > 0)
      demand.busy[place] /= share;
    else
      is_blocked = true;
  }
  if (is_blocked) demand = Demand{0, 0, std::vector<double>(demand_.busy.size(), 0.0)};
  Speeds speeds{is_blocked ? 0 : 1 / demand.longest(), 0};
  if (!with_copy) return speeds;
  auto copy = limited(engine_.running()->demand);
  const auto from = free(copy.from);
  const auto to = free(copy.to);
  if (from <= 0 || to <= 0) return speeds;
  copy.from_byte /= from;
  copy.to_byte /= to;
  if (is_blocked) {
    for (const auto byte : {copy.from_byte, copy.to_byte})
      if (byte > 0) copy.rate = std::min(copy.rate, 1 / byte);
    return {0, copy.rate};
  }
  return share(demand, copy);
}

// Advances the clock by `share` of a quantum, slot by slot, in what other threads and copies leave of the places.
void VirtualMachine::price_under_contention(Seconds core, const observe::Tally& tally, double share) {
  if (!occupancy_) occupancy_ = std::make_unique<Occupancy>(machine_.places().size());
  double progress_left = share;  // of the quantum
  while (progress_left > 0 && demand_.longest() > 0) {
    if (engine_.running() == nullptr) {
      catch_up_copies();
      wait_for_copy_in_use(core, tally);
    }
    auto* const running = engine_.running();
    const bool with_copy = running != nullptr && copied_until_ <= now();
    const auto slot = occupancy_->slot_at(now());
    const auto speeds = speeds_in(slot, with_copy);
    constexpr auto k_never = std::numeric_limits<double>::infinity();
    const auto until_end = speeds.program > 0 ? progress_left / speeds.program : k_never;
    const auto until_copied = with_copy && speeds.copy > 0 ? running->left / speeds.copy : k_never;
    // The copy was simulated further than this time, so its share of the slots is taken already.
    const auto until_copy = running != nullptr && !with_copy ? (copied_until_ - now()).value : k_never;
    const auto until_due =
        running == nullptr && engine_.next_due() ? (*engine_.next_due() - now()).value : k_never;
    const auto duration = std::min({slot.end - now().value, until_end, until_copied, until_copy, until_due});
    const auto progress = duration >= until_end ? progress_left : speeds.program * duration;
    for (std::size_t place = 0; place < demand_.busy.size(); ++place)
      if (demand_.busy[place] > 0) occupancy_->occupy(slot, place, progress * demand_.busy[place]);
    advance_clock(duration, progress, with_copy ? limited(running->demand).pace : 1);
    if (duration >= until_copy) clocks_[running_] = copied_until_;  // exact to the last digit
    if (duration >= until_due) clocks_[running_] = *engine_.next_due();
    progress_left = duration >= until_end ? 0 : progress_left - progress;
    if (!with_copy) continue;
    const auto bytes = speeds.copy * duration;
    occupancy_->occupy(slot, running->demand.from, bytes * running->demand.from_byte);
    occupancy_->occupy(slot, running->demand.to, bytes * running->demand.to_byte);
    running->left = std::max(0.0, running->left - bytes);
    copied_until_ = now();
    if (duration < until_copied) continue;
    on_copy_complete(core, tally);
    wait_for_copy_in_use(core, tally);
  }
}

}  // namespace terrace::sim
