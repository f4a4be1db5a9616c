// SPDX-License-Identifier: Apache-2.0
// Implements the warps of an SM (streaming multiprocessor) and their schedulers. The simulator calls it for the
// SM's events. See processor.hpp; the access unit is in access_unit.cpp.
#include "gpu_sim/engine/processor.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/error.hpp"

namespace terrace::gpu_sim {

Processor::Processor(const machine::Gpu& gpu, std::uint32_t number, EventWheel& events, MemorySide& memory,
                     PageTable& pages, ProcessorListener& listener)
    : gpu_(gpu),
      number_(number),
      events_(events),
      memory_(memory),
      pages_(pages),
      listener_(listener),
      last_(gpu.schedulers, k_max_warps),
      l1_(gpu.l1.bytes, gpu.l1.ways, k_line_bytes),
      mshrs_(gpu.l1.mshrs, gpu.l1.merges) {
  free_warps_ = gpu.warps == k_max_warps ? ~WarpMask{0} : (WarpMask{1} << gpu.warps) - 1;
}

std::uint32_t Processor::begin_kernel(const Kernel& kernel) {
  auto fit = std::min(gpu_.ctas, gpu_.warps / kernel.warps());
  if (kernel.registers != 0) fit = std::min(fit, gpu_.registers / (kernel.registers * kernel.warps() * k_lanes));
  if (kernel.shared_bytes != 0)
    fit = std::min(fit, static_cast<std::uint32_t>(gpu_.shared_bytes / kernel.shared_bytes));
  kernel_ = kernel.name;
  slots_.resize(std::max<std::size_t>(slots_.size(), fit));
  free_slots_.clear();
  for (auto i = fit; i != 0; --i) free_slots_.push_back(i - 1);
  return fit;
}

void Processor::start_cta(Cta& cta) {
  const auto number = free_slots_.back();
  free_slots_.pop_back();
  auto& slot = slots_[number];
  std::swap(slot.cta, cta);
  slot.warps = slot.waiting = 0;
  ++running_;
  for (const auto& steps : slot.cta.warps) {
    const auto place = static_cast<std::uint32_t>(std::countr_zero(free_warps_));
    free_warps_ &= free_warps_ - 1;
    slot.warps |= WarpMask{1} << place;
    auto& warp = warps_[place];
    warp = {};
    warp.slot = number;
    warp.step = steps.first_step;
    warp.end = steps.first_step + steps.steps;
    warp.line = steps.first_line;
    warp.after = steps.after;
    warp.age = started_++;
    warp.before = warp.step == warp.end ? std::exchange(warp.after, 0) : slot.cta.steps[warp.step].before;
    ready_ |= WarpMask{1} << place;
  }
  wake();
}

void Processor::tick_at(Cycle at) {
  if (at >= tick_) return;
  tick_ = at;
  events_.schedule(at, {EventKind::processor, number_, 0});
}

void Processor::ready_at(std::uint32_t warp, Cycle at) {
  later_[at % 64] |= WarpMask{1} << warp;
  later_filled_ |= std::uint64_t{1} << (at % 64);
}

void Processor::on_tick() {
  const auto now = events_.now();
  if (tick_ != now) return;  // an earlier tick was scheduled since
  tick_ = ~Cycle{0};
  ticked_ = now;
  // Collect the warps that have become ready up to now, within at most 64 cycles.
  const auto behind = std::min<Cycle>(now - later_from_, 63);
  for (auto due = std::rotr(later_filled_, static_cast<int>((now - behind) % 64)); due != 0; due &= due - 1) {
    const auto offset = static_cast<Cycle>(std::countr_zero(due));
    if (offset > behind) break;
    const auto slot = (now - behind + offset) % 64;
    ready_ |= std::exchange(later_[slot], 0);
    later_filled_ &= ~(std::uint64_t{1} << slot);
  }
  later_from_ = now;
  if (stopped_) return;

  const bool served = process_next_part();
  for (std::uint32_t i = 0; i < gpu_.schedulers; ++i) {
    for (;;) {
      const auto warp = pick_warp(ready_, i);
      if (warp == k_max_warps) break;
      ready_ &= ~(WarpMask{1} << warp);
      if (issue(warp) == Issue::issued) {
        last_[i] = warp;
        break;
      }
    }
  }
  const bool more = !translated_.empty() || !queue_.empty();
  if (ready_ != 0 || (more && (served || !is_blocked_))) {
    tick_at(now + 1);
  } else if (later_filled_ != 0) {
    const auto next = std::countr_zero(std::rotr(later_filled_, static_cast<int>((now + 1) % 64)));
    tick_at(now + 1 + static_cast<Cycle>(next));
  }
}

// Picks the warp that a scheduler issues next, by the machine's policy; k_max_warps if none of its warps is ready.
// With two schedulers each has every other warp, with four every fourth.
std::uint32_t Processor::pick_warp(WarpMask ready, std::uint32_t scheduler) const {
  if (gpu_.schedulers == 2) ready &= scheduler == 0 ? 0x5555555555555555 : 0xaaaaaaaaaaaaaaaa;
  if (gpu_.schedulers == 4) ready &= WarpMask{0x1111111111111111} << scheduler;
  if (ready == 0) return k_max_warps;
  const auto last = last_[scheduler];
  if (gpu_.scheduler == machine::WarpScheduler::round_robin) {
    const auto behind = last >= k_max_warps - 1 ? 0 : ready & ~WarpMask{0} << (last + 1);
    return static_cast<std::uint32_t>(std::countr_zero(behind != 0 ? behind : ready));
  }
  if (last < k_max_warps && (ready >> last & 1) != 0) return last;
  auto oldest = static_cast<std::uint32_t>(std::countr_zero(ready));
  for (auto left = ready & (ready - 1); left != 0; left &= left - 1) {
    const auto warp = static_cast<std::uint32_t>(std::countr_zero(left));
    if (warps_[warp].age < warps_[oldest].age) oldest = warp;
  }
  return oldest;
}

// Issues the next instruction or access of a warp, or notes what the warp waits for.
Processor::Issue Processor::issue(std::uint32_t number) {
  auto& warp = warps_[number];
  for (;;) {
    if (warp.before != 0) {
      --warp.before;
      ++counts_.instructions;
      ready_at(number, events_.now() + gpu_.instruction_latency);
      return Issue::issued;
    }
    if (warp.step == warp.end) {
      end_warp(number);
      return Issue::blocked;
    }
    const auto& step = slots_[warp.slot].cta.steps[warp.step];
    if (is_access(step.kind)) return issue_access(number, step);
    if (step.kind == StepKind::barrier) {
      ++counts_.instructions;
      advance_step(warp);
      wait_at_barrier(number);
      return Issue::issued;
    }
    const auto load = warp.loads - step.back + 1;
    if ((warp.outstanding >> (load % 64) & 1) != 0) {
      warp.waits_for = load;
      return Issue::blocked;
    }
    advance_step(warp);
  }
}

Processor::Issue Processor::issue_access(std::uint32_t number, const Step& step) {
  auto& warp = warps_[number];
  const auto bit = [&](std::uint32_t load) { return std::uint64_t{1} << (load % 64); };
  if (returns_value(step.kind) && (warp.outstanding & bit(warp.loads + 1)) != 0) {
    warp.waits_for = warp.loads + 1;  // the earlier load with that number modulo 64
    return Issue::blocked;
  }
  if (queue_.size() >= gpu_.access_queue) {
    blocked_on_queue_ |= WarpMask{1} << number;
    return Issue::blocked;
  }
  ++counts_.instructions;
  ++counts_.accesses;
  Access access;
  access.warp = number;
  access.age = warp.age;
  access.slot = warp.slot;
  access.line = warp.line;
  access.lines = step.lines;
  access.kind = step.kind;
  if (returns_value(step.kind)) {
    access.load = ++warp.loads;
    warp.outstanding |= bit(access.load);
  }
  warp.line += step.lines;
  ++slots_[warp.slot].accesses;
  queue_.push_back(accesses_.add(access));
  advance_step(warp);
  ready_at(number, events_.now() + gpu_.instruction_latency);
  return Issue::issued;
}

void Processor::advance_step(Warp& warp) {
  ++warp.step;
  warp.before =
      warp.step == warp.end ? std::exchange(warp.after, 0) : slots_[warp.slot].cta.steps[warp.step].before;
}

void Processor::wait_at_barrier(std::uint32_t number) {
  auto& slot = slots_[warps_[number].slot];
  slot.waiting |= WarpMask{1} << number;
  release_barrier_if_complete(slot);
}

void Processor::release_barrier_if_complete(Slot& slot) {
  if (slot.waiting != slot.warps) return;
  for (auto left = slot.waiting; left != 0; left &= left - 1)
    ready_at(static_cast<std::uint32_t>(std::countr_zero(left)), events_.now() + gpu_.instruction_latency);
  slot.waiting = 0;
}

void Processor::end_warp(std::uint32_t number) {
  auto& warp = warps_[number];
  auto& slot = slots_[warp.slot];
  slot.warps &= ~(WarpMask{1} << number);
  free_warps_ |= WarpMask{1} << number;
  warp.age = ~std::uint64_t{0};
  // A new warp in its slot has not issued last.
  if (gpu_.scheduler == machine::WarpScheduler::greedy_then_oldest)
    std::replace(last_.begin(), last_.end(), number, k_max_warps);
  release_barrier_if_complete(slot);  // warps at a barrier do not wait for an ended warp
  free_slot_if_done(warp.slot);
}

void Processor::free_slot_if_done(std::uint32_t number) {
  const auto& slot = slots_[number];
  if (slot.warps != 0 || slot.accesses != 0) return;
  free_slots_.push_back(number);
  --running_;
  listener_.on_cta_end(number_);
}

ProcessorCounts& ProcessorCounts::operator+=(const ProcessorCounts& other) {
  instructions += other.instructions;
  accesses += other.accesses;
  loads += other.loads;
  load_hits += other.load_hits;
  load_merges += other.load_merges;
  stores += other.stores;
  atomics += other.atomics;
  return *this;
}

}  // namespace terrace::gpu_sim
