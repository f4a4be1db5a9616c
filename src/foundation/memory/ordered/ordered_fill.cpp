// SPDX-License-Identifier: Apache-2.0
// Implements ordered fill for the agent's heap of data with memory attributes. The accounting by outstanding
// bytes is what keeps concurrent processes in order: without it, two processes that fill at once pass the
// watermark and place their data out of order. See ordered_fill.hpp.
#include "memory/ordered/ordered_fill.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/rounding.hpp"

namespace terrace::memory {

namespace {

constexpr std::size_t k_max_pages = 512;  // of a batch whose page locations are queried

constexpr std::uint64_t rest_of(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : 0; }

// Callback context of Ledger::reserve(): free memory above `min_free`.
struct FreeAboveWatermark {
  PlaceSystem& system;
  std::uint64_t min_free;
  static Bytes of(void* context, PlaceId place) {
    const auto& self = *static_cast<FreeAboveWatermark*>(context);
    return {rest_of(self.system.free_bytes(place), self.min_free)};
  }
};

}  // namespace

struct OrderedFill::FillState {
  std::uint64_t at;
  std::uint64_t end;
  std::span<const PlaceId> order;
  Content content;
  Observer& observer;
  std::size_t num_exhausted;  // places exhausted by neighbouring ranges
  std::size_t rank = 0;       // position in the order
  Outcome outcome{};
  std::uint64_t batch = 0;                   // bytes from `at` on
  std::array<PlaceId, k_max_pages> where{};  // of the batch's pages, if it may have content

  void note(int problem) {
    if (outcome.error == 0) outcome.error = problem;
  }
  [[nodiscard]] std::span<const PlaceId> pages(std::uint64_t size) const {
    return std::span(where).first(size / k_page);
  }
  // Returns how many of the first `size` bytes are not on the place.
  [[nodiscard]] std::uint64_t missing(PlaceId place, std::uint64_t size) const {
    if (content == Content::none) return size;
    const auto there = std::ranges::count(pages(size), place);
    return size - static_cast<std::uint64_t>(there) * k_page;
  }
  // Returns the longest prefix of the batch for which `reserved` bytes suffice.
  [[nodiscard]] std::uint64_t affordable_prefix(PlaceId place, std::uint64_t reserved) const {
    if (content == Content::none) return std::min(reserved, batch);
    std::uint64_t size = 0;
    for (const auto page : pages(batch)) {
      if (page != place) {
        if (reserved < k_page) break;
        reserved -= k_page;
      }
      size += k_page;
    }
    return size;
  }
  // Returns the bytes of the batch's longest prefix whose pages are all on one place, or all absent.
  [[nodiscard]] std::uint64_t uniform_prefix() const {
    const auto all = pages(batch);
    const auto other = std::ranges::find_if(all, [&](PlaceId page) { return page != all.front(); });
    return static_cast<std::uint64_t>(other - all.begin()) * k_page;
  }
};

OrderedFill::OrderedFill(Ledger& ledger, PlaceSystem& system, std::size_t places, const Settings& settings)
    : ledger_(ledger), system_(system), settings_(settings) {
  settings_.batch.value = std::min<std::uint64_t>(settings_.batch.value, k_max_pages * k_page);
  for (std::size_t i = 0; i < places; ++i)
    watermarks_.push_back(static_cast<std::uint64_t>(
        settings_.watermark * static_cast<double>(system.capacity(static_cast<PlaceId>(i)))));
}

// Returns the free bytes above `min_free` that are not reserved by any process, within the job's budget.
std::uint64_t OrderedFill::available(PlaceId place, std::uint64_t min_free) const noexcept {
  const auto above = rest_of(system_.free_bytes(place), min_free);
  if (above < k_page) return 0;
  return std::min(rest_of(above, ledger_.outstanding(place).value), ledger_.available(place).value);
}

// Reserves the whole request in the ledger if it and the slack are free above the watermark.
bool OrderedFill::try_reserve(PlaceId place, std::uint64_t requested, std::uint64_t min_free) noexcept {
  FreeAboveWatermark free{system_, min_free + settings_.slack.value};
  // Shortcut: the ledger would search for dead processes before it refuses.
  if (rest_of(system_.free_bytes(place), free.min_free) < requested) return false;
  return ledger_.reserve(place, {requested}, {FreeAboveWatermark::of, &free});
}

// Reserves as much of the request as is available, after waiting for what other processes have outstanding.
// Returns the bytes reserved.
std::uint64_t OrderedFill::reserve(PlaceId place, std::uint64_t requested, std::uint64_t min_free) noexcept {
  const auto min_size = std::min(requested, settings_.min_part.value);
  for (int waits = 0;; ++waits) {
    if (try_reserve(place, requested, min_free)) return requested;
    if (rest_of(system_.free_bytes(place), min_free) < min_size || ledger_.available(place).value < min_size)
      return 0;
    const bool patient = waits < settings_.max_pauses;
    if (patient && ledger_.outstanding(place).value > 0) {
      system_.wait_briefly();
      continue;
    }
    const auto size = std::min(requested, available(place, min_free) / k_page * k_page);
    FreeAboveWatermark free{system_, min_free};
    if (size >= min_size && ledger_.reserve(place, {size}, {FreeAboveWatermark::of, &free})) return size;
    if (size < min_size && ledger_.outstanding(place).value == 0) return 0;  // else another process was faster
    if (!patient) return 0;
    system_.wait_briefly();
  }
}

// Sets the policy, migrates or populates the pages, and updates the ledger. Returns false, with nothing changed,
// if the system refuses the place.
bool OrderedFill::place_part(FillState& state, PlaceId place, std::uint64_t size,
                             std::uint64_t reserved) noexcept {
  if (const auto error = system_.prefer_place(state.at, size, place); error != 0) {
    state.note(error);
    ledger_.commit_reserved(place, {reserved});  // ends the reservation: nothing is populated
    ledger_.give(place, {reserved});
    return false;
  }
  // Otherwise a huge page may cover the next part as well, if that has the same policy from before.
  if (size < state.batch) system_.reset_policy(state.at + size, state.batch - size);
  const bool more = size > reserved && ledger_.take(place, {size - reserved});
  if (size > reserved && !more) state.note(ENOMEM);  // the pages exist, beyond the job's budget
  state.observer.on_placed({state.at, size, place, more ? size : reserved});
  state.observer.on_accessible(state.at, size);
  const bool has_content = state.content == Content::some;
  const auto absent = has_content ? std::ranges::count(state.pages(size), k_no_place) : 1;
  const auto there = size - state.missing(place, size);
  if (has_content && there + static_cast<std::uint64_t>(absent) * k_page < size) {
    const auto exhausted = state.order.first(state.rank);  // exhausted places
    state.outcome.needs_retry |= std::ranges::any_of(
        state.pages(size), [&](PlaceId page) { return std::ranges::find(exhausted, page) != exhausted.end(); });
    state.note(system_.migrate_to(state.at, size, place));
  }
  if (absent > 0) state.note(system_.populate(state.at, size));
  ledger_.commit_reserved(place, {reserved});
  state.at += size;
  return true;
}

// Leaves the part to first touch; `place` is preferred unless it is k_no_place.
void OrderedFill::leave_to_kernel(FillState& state, PlaceId place, std::uint64_t size) noexcept {
  if (place != k_no_place) system_.prefer_place(state.at, size, place);
  state.observer.on_placed({state.at, size, k_no_place, 0});
  state.observer.on_accessible(state.at, size);
  state.at += size;
}

// Places the next part of the batch on the place. Returns false if the place is exhausted or refused.
bool OrderedFill::fill_from(FillState& state, PlaceId place) noexcept {
  const auto min_free = watermarks_[place];
  const auto large = settings_.large_batch.value;
  if (state.content == Content::none && state.end - state.at >= large && try_reserve(place, large, min_free))
    return place_part(state, place, large, large);
  const auto missing = state.missing(place, state.batch);
  std::uint64_t reserved = 0;
  if (missing > 0 && state.rank < state.num_exhausted)
    reserved = try_reserve(place, missing, min_free) ? missing : 0;
  else if (missing > 0)
    reserved = reserve(place, missing, min_free);
  const auto size = state.affordable_prefix(place, reserved);
  return size > 0 && place_part(state, place, size, reserved);
}

// Handles a batch when all places are at their watermarks or refuse. Existing pages stay where they are.
void OrderedFill::fall_back(FillState& state) noexcept {
  auto size = state.batch;
  if (state.content == Content::some) {
    size = state.uniform_prefix();
    if (const auto here = state.where.front(); here != k_no_place) {
      if (!place_part(state, here, size, 0)) leave_to_kernel(state, k_no_place, size);
      return;
    }
  }
  auto best = k_no_place;
  std::uint64_t max_above = k_page - 1;
  for (const auto place : state.order) {
    if (!serves(place)) continue;
    const auto above =
        rest_of(system_.free_bytes(place), system_.kernel_reserve(place) + ledger_.outstanding(place).value);
    if (above <= max_above) continue;
    max_above = above;
    best = place;
  }
  if (best == k_no_place) {
    state.note(ENOMEM);
    return leave_to_kernel(state, k_no_place, size);
  }
  const auto reserved = reserve(best, size, system_.kernel_reserve(best));
  if (reserved == 0) state.note(ENOMEM);
  if (reserved == 0 || !place_part(state, best, reserved, reserved)) leave_to_kernel(state, best, size);
}

// Places the next part of the range, at most a batch.
void OrderedFill::fill_batch(FillState& state) noexcept {
  const auto boundary = state.at / settings_.batch.value * settings_.batch.value + settings_.batch.value;
  state.batch = std::min(boundary, state.end) - state.at;
  if (state.content == Content::some) {
    const auto pages = state.batch / k_page;
    if (const auto error = system_.query_places(state.at, std::span(state.where).first(pages)); error != 0) {
      state.note(error);
      return leave_to_kernel(state, k_no_place, state.batch);
    }
  }
  for (; state.rank < state.order.size(); ++state.rank)
    if (serves(state.order[state.rank]) && fill_from(state, state.order[state.rank])) return;
  fall_back(state);
}

OrderedFill::Outcome OrderedFill::fill(std::uint64_t address, std::uint64_t size, std::span<const PlaceId> order,
                                       Content content, Observer& observer, std::size_t num_exhausted) noexcept {
  FillState state{address, address + size, order, content, observer, num_exhausted};
  while (state.at < state.end) fill_batch(state);
  state.outcome.num_exhausted = std::max(state.rank, num_exhausted);
  return state.outcome;
}

bool OrderedFill::has_room(std::uint64_t size, std::span<const PlaceId> order) const noexcept {
  const auto first = std::ranges::find_if(order, [this](PlaceId place) { return serves(place); });
  return first != order.end() && available(*first, watermarks_[*first]) >= size;
}

PlaceId OrderedFill::preferred(std::uint64_t size, std::span<const PlaceId> order) noexcept {
  auto best = k_no_place;
  std::uint64_t max_above = 0;
  for (const auto place : order) {
    if (!serves(place)) continue;
    const auto above = available(place, watermarks_[place]);
    if (above >= size) return place;
    if (best != k_no_place && above <= max_above) continue;
    best = place;
    max_above = above;
  }
  return best;
}

}  // namespace terrace::memory
