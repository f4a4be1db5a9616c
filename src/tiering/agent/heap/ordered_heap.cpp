// SPDX-License-Identifier: Apache-2.0
// Implements the part of OrderedHeap that fills memory with pages by intent: eagerly on the allocating thread, and
// after first touches on Terrace's threads. See ordered_heap.hpp.
#include "agent/heap/ordered_heap.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "agent/heap/ordered_state.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/userfault_file.hpp"
#include "machine/ordering.hpp"

namespace terrace::agent {

namespace {

constexpr unsigned k_max_threads = 4;         // threads that populate after touches
constexpr std::uint64_t k_max_chunks = 4096;  // per block: each chunk touched out of order becomes a mapping

unsigned threads_here() noexcept {
  const auto processors = sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<unsigned>(std::clamp(processors, 1L, long{k_max_threads}));
}

// Returns the chunk size for population after touches: 1/256 of the block, between 1 and 16 huge pages, because
// each touch costs a trap and two system calls in addition to the pages.
std::uint64_t chunk_of(std::uint64_t block_size) noexcept {
  const auto share = std::clamp(align_down(block_size / 256, k_huge_page), k_huge_page, 16 * k_huge_page);
  return std::max(share, align_up(block_size / k_max_chunks, k_huge_page));
}

}  // namespace

// Records what was placed, and wakes threads that wait for it. Parts of existing memory that are left to the
// kernel are recorded at the end, and not if the range turns out to be unmapped.
class OrderedHeap::PlacementRecorder final : public memory::OrderedFill::Observer {
 public:
  PlacementRecorder(OrderedHeap& heap, transfer::TouchTraps* traps, int intent,
                    memory::OrderedFill::Content content)
      : heap_(heap), traps_(traps), intent_(intent), content_(content) {}
  void on_accessible(std::uint64_t address, std::uint64_t size) noexcept override {
    if (traps_) traps_->unregister_range(address, size);
  }
  void on_placed(const memory::OrderedFill::PlacedPart& part) noexcept override {
    // A strict ordering that fails keeps nothing.
    if (part.place == k_no_place && heap_.order_of(intent_).rule == Rule::strict) return;
    const memory::PlacedRanges::Range range{part.address, part.size, part.place, part.held,
                                            static_cast<std::uint32_t>(intent_)};
    try {
      if (part.place == k_no_place && content_ == memory::OrderedFill::Content::some)
        kernel_placed_.push_back(range);
      else
        record(range);
    } catch (const std::bad_alloc&) {
      if (part.held > 0) heap_.parts_.ledger->give(part.place, {part.held});
    }
  }
  // Forgets what an earlier pass over the range recorded.
  void restart() noexcept { kernel_placed_.clear(); }
  // Records what was left to the kernel.
  void end() noexcept {
    try {
      for (const auto& range : kernel_placed_) record(range);
    } catch (const std::bad_alloc&) {  // not recorded, so not charged
    }
  }

 private:
  void record(const memory::PlacedRanges::Range& range) {
    const std::lock_guard guard(heap_.mutex_);
    heap_.placed_.add(range);
    heap_.count(range, true);
  }

  OrderedHeap& heap_;
  transfer::TouchTraps* traps_;
  int intent_;
  memory::OrderedFill::Content content_;
  OrderedHeap::Ranges kernel_placed_;  // left to the kernel's placement
};

OrderedHeap::OrderedHeap(Parts parts) : parts_(std::move(parts)) {
  for (const auto& intent : machine::intents(*parts_.machine)) {
    auto& order = orders_.emplace_back();
    order.name = intent;
    for (const auto& one : machine::rank_places(*parts_.machine, parts_.initiator, intent))
      order.places.push_back(one.place);
  }
}

int OrderedHeap::find_intent(std::string_view name) const {
  const auto found = std::ranges::find(orders_, name, &Order::name);
  if (found != orders_.end()) return static_cast<int>(found - orders_.begin());
  machine::rank_places(*parts_.machine, parts_.initiator, name);  // throws with an explanation
  throw Error(Code::not_found,
              "there is no intent '" + std::string(name) + "'; `terrace machine orderings` lists them");
}

int OrderedHeap::add_ordering(std::string name, std::vector<PlaceId> places, Rule rule) {
  if (more_count_ == more_.size()) return -1;
  more_[more_count_] = {std::move(name), std::move(places), rule};
  return static_cast<int>(orders_.size() + more_count_++);
}

// Returns the state, which the first placement makes; null without memory.
OrderedHeap::State* OrderedHeap::ensure_state() noexcept {
  if (auto* const made = state_.load(std::memory_order_acquire)) return made;
  const std::lock_guard guard(mutex_);
  if (auto* const made = state_.load(std::memory_order_relaxed)) return made;
  try {
    auto* const made = new State(*this, parts_.counts ? parts_.counts() : nullptr);
    state_.store(made, std::memory_order_release);
    return made;
  } catch (const std::exception&) {
    return nullptr;  // no memory
  }
}

// Populates the range with pages of the intent's places, best first, or migrates existing content there.
// `num_full`: leading places that are known to be full.
memory::OrderedFill::Outcome OrderedHeap::fill(std::uint64_t address, std::uint64_t size, int intent,
                                               memory::OrderedFill::Content content,
                                               std::size_t num_full) noexcept {
  auto& here = *state_.load(std::memory_order_acquire);
  PlacementRecorder filling(*this, here.traps.load(), intent, content);
  const auto& order = order_of(intent).places;
  auto outcome = here.fill.fill(address, size, order, content, filling, num_full);
  for (std::size_t pass = 1; outcome.needs_retry && pass < order.size(); ++pass) {
    forget(address, size);
    filling.restart();
    outcome = here.fill.fill(address, size, order, content, filling);
  }
  if (outcome.error == EFAULT) return outcome;  // caller's error: the range is not mapped
  filling.end();
  if (order_of(intent).rule == Rule::strict) return outcome;  // the caller reports it
  if (std::int32_t none = 0; outcome.error != 0 && here.counts)
    here.counts->error.compare_exchange_strong(none, outcome.error);
  return outcome;
}

// Arms touch traps for the range. Its memory policy serves as fallback in forked children and without userfaultfd.
void OrderedHeap::arm_touch_traps(std::uint64_t address, std::uint64_t size, int intent) noexcept {
  auto& here = *state_.load(std::memory_order_acquire);
  const auto place = here.fill.preferred(size, order_of(intent).places);
  if (place != k_no_place) here.system.prefer_place(address, size, place);
  bool refused = false;
  int error = ENOMEM;
  {
    const std::lock_guard guard(mutex_);
    if (!std::exchange(here.has_traps, true)) {
      auto* const traps = new (std::nothrow) transfer::TouchTraps(
          [this](std::uint64_t touched) { on_first_touch(touched); }, parts_.enter, threads_here());
      refused = !traps || !traps->is_available();
      if (traps) error = traps->error();
      if (refused)
        delete traps;
      else
        here.traps.store(traps);
    }
  }
  if (refused) try {
      parts_.say(("memory by intent cannot be placed at first touch, " + why_no_userfault(error) +
                  ": each block uses one preferred place while that has free memory")
                     .c_str());
    } catch (const std::bad_alloc&) {  // no memory to say it with
    }
  if (auto* const traps = here.traps.load()) traps->register_range(address, size);
}

// Populates the touched chunk, on one of Terrace's threads. The touching thread may continue, and even free the
// block, before the whole chunk is populated: release() waits for that.
void OrderedHeap::on_first_touch(std::uint64_t address) noexcept {
  auto& here = *state_.load(std::memory_order_acquire);
  auto& traps = *here.traps.load();
  memory::PlacedRanges::Gap gap{};
  std::uint64_t of = 0;
  std::size_t num_full = 0;
  int intent = 0;
  try {
    const std::lock_guard guard(mutex_);
    auto block = blocks_.upper_bound(address);
    if (block != blocks_.begin() && address - (--block)->first < block->second.size &&
        block->second.when == FillMode::on_touch) {
      const auto chunk = chunk_of(block->second.size);
      auto begin = std::max(address / chunk * chunk, block->first);
      auto end = std::min((address / chunk + 1) * chunk, block->first + block->second.size);
      const auto next = filling_.upper_bound(address);
      if (next != filling_.end()) end = std::min(end, next->first);
      if (next != filling_.begin()) begin = std::max(begin, std::prev(next)->first + std::prev(next)->second);
      // Parts that are being filled or already placed are no longer armed; their waiters are woken by the filler.
      gap = begin > address ? memory::PlacedRanges::Gap{} : placed_.find_gap(address, begin, end);
      if (gap.size == 0) return;
      filling_.emplace(gap.address, gap.size);
      of = block->first;
      num_full = block->second.left;
      intent = block->second.intent;
    }
  } catch (const std::bad_alloc&) {
    return traps.unregister_range(address, k_page);
  }
  if (gap.size == 0) return traps.wake(address, k_page);  // the block was released, or is not registered yet
  const auto outcome = fill(gap.address, gap.size, intent, memory::OrderedFill::Content::none, num_full);
  const std::lock_guard guard(mutex_);
  filling_.erase(gap.address);
  if (const auto block = blocks_.find(of); block != blocks_.end()) block->second.left = outcome.num_exhausted;
}

bool OrderedHeap::is_filling(std::uint64_t address, std::uint64_t size) const noexcept {
  const auto last = filling_.lower_bound(address + size);
  if (last == filling_.begin()) return false;
  const auto& [begin, length] = *std::prev(last);
  return begin + length > address;
}

void OrderedHeap::await_filled(std::uint64_t address, std::uint64_t size) noexcept {
  const auto is = [&] {
    const std::lock_guard guard(mutex_);
    return is_filling(address, size);
  };
  while (is()) ::syscall(SYS_sched_yield);
}

// Marks the range as being filled by the caller. Returns false if a part of it already is. Throws std::bad_alloc.
bool OrderedHeap::claim(std::uint64_t address, std::uint64_t size) {
  const std::lock_guard guard(mutex_);
  if (is_filling(address, size)) return false;
  filling_.emplace(address, size);
  return true;
}

// Called by confine(). Threads of the program that wait for a page get it by the memory policy of its block.
void OrderedHeap::shut_down() noexcept {
  if (is_shut_down_.exchange(true)) return;
  small_.shut_down();
  auto* const here = state_.load(std::memory_order_acquire);
  if (!here) return;
  if (auto* const traps = here->traps.load()) traps->shut_down(here->space.base(), here->space.reserved().value);
  here->traps.store(nullptr);
  here->space.retire();
}

void OrderedHeap::lock() const {
  small_.lock();
  mutex_.lock();
  if (const auto* const here = state_.load()) here->space.lock();
}

void OrderedHeap::unlock() const {
  if (const auto* const here = state_.load()) here->space.unlock();
  mutex_.unlock();
  small_.unlock();
}

// Adds the range to, or removes it from, the counts that the launcher reports at the end of the run.
void OrderedHeap::count(const memory::PlacedRanges::Range& range, bool more) noexcept {
  auto* const counts = state_.load(std::memory_order_acquire)->counts;
  if (!counts || range.intent >= counts->intents.size()) return;
  auto& intent = counts->intents[range.intent];
  if (intent.name.front() == '\0') {
    const auto& name = order_of(static_cast<int>(range.intent)).name;
    std::memcpy(intent.name.data(), name.data(), std::min(name.size(), intent.name.size() - 1));
  }
  auto& now = intent.now[std::min<std::size_t>(range.place, memory::k_counted_places)];
  now.store(more ? now + range.size : now - range.size);
  std::uint64_t sum = 0;
  for (const auto& one : intent.now) sum += one;
  if (sum <= intent.max_sum) return;
  intent.max_sum.store(sum);
  for (std::size_t i = 0; i < intent.now.size(); ++i) intent.at_peak[i].store(intent.now[i]);
}

void OrderedHeap::in_child() noexcept {
  auto* const here = state_.load(std::memory_order_acquire);
  if (!here) return;
  filling_.clear();
  here->traps.store(nullptr);  // its threads exist in the parent only
  here->has_traps = true;
  here->counts = nullptr;
}

}  // namespace terrace::agent
