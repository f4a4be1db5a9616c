// SPDX-License-Identifier: Apache-2.0
// Implements the access unit of an SM (streaming multiprocessor): address translation, L1 cache, requests to
// memory. The simulator calls it through Processor, whose declarations are in processor.hpp.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "gpu_sim/engine/processor.hpp"

namespace terrace::gpu_sim {
namespace {

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

}  // namespace

bool Processor::process_next_part() {
  is_blocked_ = false;
  // Parts that waited for their translation go before new ones.
  if (!translated_.empty()) {
    const auto part = translated_.front();
    if (!look_up(part)) return !(is_blocked_ = true);
    translated_.pop_front();
    --accesses_[part.access].outstanding;
    finish_if_done(part.access);
    return true;
  }
  if (queue_.empty()) return false;
  const auto number = queue_.front();
  auto& access = accesses_[number];
  if (!access.begun) {
    access.begun = true;
    warp_camat_.begin_access(events_.now());
  }
  if (!look_up({number, slots_[access.slot].cta.lines[access.line]})) return !(is_blocked_ = true);
  ++access.line;
  if (--access.lines == 0) {
    queue_.pop_front();
    ready_ |= std::exchange(blocked_on_queue_, 0);
    on_looked_up(number);
  }
  return true;
}

// Translates a part and looks it up, or starts a page walk. Returns false if the part has to be retried.
bool Processor::look_up(const AccessPart& part) {
  const auto number = part.part.address() / gpu_.page_bytes;
  // A fresh translation is used at once, even if the TLB has evicted it since, if the page is still usable.
  const bool is_known = part.page != k_no_page && pages_[part.page].usable();
  const auto page = is_known ? part.page : pages_.look_up(number_, number);
  if (page != k_no_page) return look_up_translated(part, page);
  auto& access = accesses_[part.access];
  const bool is_walk_pending =
      std::any_of(awaiting_translation_.begin(), awaiting_translation_.end(),
                  [&](const AccessPart& other) { return other.part.address() / gpu_.page_bytes == number; });
  if (!is_walk_pending) {
    const auto found = pages_.find(number);
    if (found == k_no_page)
      throw Error(Code::invalid, "the kernel " + kernel_ + " accesses " + hexadecimal(part.part.address()) +
                                     ", which is in no allocation; for an Accel-Sim trace, name the allocation "
                                     "in --allocations FILE");
    pages_.walk(number_, found);
  }
  awaiting_translation_.push_back({part.access, part.part});
  ++access.outstanding;
  note_miss(access);
  return true;
}

// Looks up a translated part in the L1 cache, or sends its store or atomic. Returns false if it must wait.
bool Processor::look_up_translated(const AccessPart& part, std::uint32_t page) {
  auto& access = accesses_[part.access];
  const auto now = events_.now();
  if (access.kind == StepKind::load) {
    if (!load(access, part, page)) return false;
  } else {
    if (access.kind == StepKind::store) {
      if (stores_ == gpu_.stores) return false;
      ++stores_;
      ++counts_.stores;
    } else {
      ++counts_.atomics;
      ++access.outstanding;
      note_miss(access);
    }
    l1_.drop(part.part.line());
    send(part, page, part.access);
  }
  access.ready = std::max(access.ready, now + gpu_.l1.latency);
  return true;
}

bool Processor::load(Access& access, const AccessPart& part, std::uint32_t page) {
  const auto line = part.part.line();
  const auto sectors = gpu_.sectored ? part.part.sectors() : 15U;
  const auto now = events_.now();
  const auto missing = sectors & ~l1_.look_up(line, sectors);
  if (missing == 0) {
    ++counts_.load_hits;
    part_camat_.add_hit(now, gpu_.l1.latency);
  } else {
    note_miss(access);
    std::uint32_t mshr = 0;
    const auto result = mshrs_.wait(line, missing, {part.access, 0}, mshr);
    if (result == MshrTable<Waiter>::Result::full) return false;
    part_camat_.begin_access(now);
    mshrs_[mshr].waiters.back().miss = part_camat_.begin_miss(now + gpu_.l1.latency);
    ++access.outstanding;
    if (result == MshrTable<Waiter>::Result::merged)
      ++counts_.load_merges;
    else
      send({part.access, LinePart(line, missing)}, page, mshr);
  }
  ++counts_.loads;
  return true;
}

// Sends a request for the part to the slice of its memory channel.
void Processor::send(const AccessPart& part, std::uint32_t page, std::uint32_t waiter) {
  const auto& entry = pages_[page];
  Request request;
  memory_.locate(entry.memory,
                 std::uint64_t{entry.frame} * gpu_.page_bytes + part.part.address() % gpu_.page_bytes, request);
  request.sectors = part.part.sectors();
  request.page = page;
  request.processor = number_;
  request.waiter = waiter;
  request.kind = accesses_[part.access].kind;
  pages_.on_sent(page);
  memory_.send(request);
  listener_.on_request(page, request.kind != StepKind::load);
}

// Notes that a part of the access missed: its hit phase ends with this lookup, and the miss phase begins.
void Processor::note_miss(Access& access) {
  if (access.misses) return;
  access.misses = true;
  access.miss = warp_camat_.begin_miss(events_.now() + gpu_.l1.latency);
}

// Ends the lookup of an access: all of its lines were looked up, or wait for a translation.
void Processor::on_looked_up(std::uint32_t number) {
  const auto& access = accesses_[number];
  if (!access.misses) warp_camat_.end_hit(events_.now() + gpu_.l1.latency);
  const auto slot = access.slot;
  finish_if_done(number);
  --slots_[slot].accesses;
  free_slot_if_done(slot);
}

void Processor::finish_if_done(std::uint32_t number) {
  auto& access = accesses_[number];
  if (access.lines != 0 || access.outstanding != 0) return;
  events_.schedule(std::max(events_.now(), access.ready), {EventKind::access_done, number_, number});
}

void Processor::on_access_done(std::uint32_t number) {
  const auto access = accesses_[number];
  accesses_.release(number);
  if (access.misses) warp_camat_.end_miss(access.miss, events_.now());
  if (access.load == 0) return;
  auto& warp = warps_[access.warp];
  if (warp.age != access.age) return;  // the warp has ended
  warp.outstanding &= ~(std::uint64_t{1} << (access.load % 64));
  if (warp.waits_for != access.load && warp.waits_for != access.load + 64) return;
  warp.waits_for = 0;
  ready_ |= WarpMask{1} << access.warp;
  wake();
}

// Handles the event that a page's translation is available: its waiting parts are looked up next.
void Processor::on_translated(std::uint32_t page) {
  if (!pages_.on_translated(number_, page)) return;
  const auto number = pages_[page].number;
  const auto still = std::stable_partition(
      awaiting_translation_.begin(), awaiting_translation_.end(),
      [&](const AccessPart& part) { return part.part.address() / gpu_.page_bytes != number; });
  for (auto at = still; at != awaiting_translation_.end(); ++at)
    translated_.push_back({at->access, at->part, page});
  awaiting_translation_.erase(still, awaiting_translation_.end());
  wake();
}

// Handles the answer of a request: fills the L1 cache and completes the accesses that wait for the line.
void Processor::on_answer(const Request& request) {
  pages_.on_answered(request.page);
  const auto done = [&](std::uint32_t number) {
    --accesses_[number].outstanding;
    finish_if_done(number);
  };
  if (request.kind == StepKind::store) {
    --stores_;
  } else if (request.kind == StepKind::atomic) {
    done(request.waiter);
  } else {
    auto& entry = mshrs_[request.waiter];
    l1_.fill(entry.line, entry.sectors, 0);
    for (const auto& waiter : entry.waiters) {
      part_camat_.end_miss(waiter.miss, events_.now());
      done(waiter.access);
    }
    mshrs_.release(request.waiter);
  }
  // A blocked part may find an MSHR now.
  if (is_blocked_) wake();
}

}  // namespace terrace::gpu_sim
