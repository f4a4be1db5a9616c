// See ordered_fill.hpp. The rule is that of the design's ledger for ordered spill: without it two processes that
// fill at once end behind the mark, and out of order.
#include "memory/ordered/ordered_fill.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/rounding.hpp"

namespace terrace::memory {

namespace {

constexpr std::size_t k_max_pages = 512;  // of a batch whose content has to be looked at

constexpr std::uint64_t rest_of(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : 0; }

// What the ledger asks when it reserves.
struct FreeAbove {
  PlaceSystem& system;
  std::uint64_t keep;
  static Bytes of(void* context, PlaceId place) {
    const auto& self = *static_cast<FreeAbove*>(context);
    return {rest_of(self.system.free(place), self.keep)};
  }
};

}  // namespace

struct OrderedFill::Work {
  std::uint64_t at;
  std::uint64_t end;
  std::span<const PlaceId> order;
  Content content;
  Progress& progress;
  std::size_t left;      // places that neighbours have left
  std::size_t rank = 0;  // in the order
  Outcome outcome{};
  std::uint64_t batch = 0;                   // bytes from `at` on that are looked at
  std::array<PlaceId, k_max_pages> where{};  // of the batch's pages, where there is content

  void note(int problem) {
    if (outcome.error == 0) outcome.error = problem;
  }
  [[nodiscard]] std::span<const PlaceId> pages(std::uint64_t size) const {
    return std::span(where).first(size / k_page);
  }
  // Bytes of the first `size` that are not on the place.
  [[nodiscard]] std::uint64_t missing(PlaceId place, std::uint64_t size) const {
    if (content == Content::none) return size;
    const auto there = std::ranges::count(pages(size), place);
    return size - static_cast<std::uint64_t>(there) * k_page;
  }
  // The longest beginning of the batch for which `reserved` bytes are enough.
  [[nodiscard]] std::uint64_t beginning(PlaceId place, std::uint64_t reserved) const {
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
  // Pages at the batch's beginning that are in the same place, or all absent.
  [[nodiscard]] std::uint64_t run() const {
    const auto all = pages(batch);
    const auto other = std::ranges::find_if(all, [&](PlaceId page) { return page != all.front(); });
    return static_cast<std::uint64_t>(other - all.begin()) * k_page;
  }
};

OrderedFill::OrderedFill(Ledger& ledger, PlaceSystem& system, std::size_t places, const Settings& settings)
    : ledger_(ledger), system_(system), settings_(settings) {
  settings_.batch.value = std::min<std::uint64_t>(settings_.batch.value, k_max_pages * k_page);
  for (std::size_t i = 0; i < places; ++i)
    marks_.push_back(
        static_cast<std::uint64_t>(settings_.mark * static_cast<double>(system.total(static_cast<PlaceId>(i)))));
}

// What is free above `keep` and not promised to anybody, as far as the job's budget allows it.
std::uint64_t OrderedFill::room(PlaceId place, std::uint64_t keep) const noexcept {
  const auto above = rest_of(system_.free(place), keep);
  if (above < k_page) return 0;
  return std::min(rest_of(above, ledger_.outstanding(place).value), ledger_.available(place).value);
}

bool OrderedFill::take_at_once(PlaceId place, std::uint64_t wanted, std::uint64_t keep) noexcept {
  FreeAbove free{system_, keep + settings_.slack.value};
  // The ledger looks for the dead before it refuses: that is saved where it is clear.
  if (rest_of(system_.free(place), free.keep) < wanted) return false;
  return ledger_.reserve(place, {wanted}, {FreeAbove::of, &free});
}

std::uint64_t OrderedFill::reserve(PlaceId place, std::uint64_t wanted, std::uint64_t keep) noexcept {
  const auto least = std::min(wanted, settings_.least.value);
  for (int waits = 0;; ++waits) {
    if (take_at_once(place, wanted, keep)) return wanted;
    if (rest_of(system_.free(place), keep) < least || ledger_.available(place).value < least) return 0;
    const bool patient = waits < settings_.patience;
    if (patient && ledger_.outstanding(place).value > 0) {
      system_.pause();
      continue;
    }
    const auto size = std::min(wanted, room(place, keep) / k_page * k_page);
    FreeAbove free{system_, keep};
    if (size >= least && ledger_.reserve(place, {size}, {FreeAbove::of, &free})) return size;
    if (size < least && ledger_.outstanding(place).value == 0) return 0;  // else another was faster
    if (!patient) return 0;
    system_.pause();
  }
}

// The range's policy, its pages, the accounts. False, and nothing happened, where the system refuses the place.
bool OrderedFill::settle(Work& work, PlaceId place, std::uint64_t size, std::uint64_t reserved) noexcept {
  if (const auto error = system_.prefer(work.at, size, place); error != 0) {
    work.note(error);
    ledger_.populated(place, {reserved});  // nor will be
    ledger_.give(place, {reserved});
    return false;
  }
  // Else a huge page may cover the next part as well, where an older policy of that is the same.
  if (size < work.batch) system_.forget(work.at + size, work.batch - size);
  const bool more = size > reserved && ledger_.take(place, {size - reserved});
  if (size > reserved && !more) work.note(ENOMEM);  // it is there, and beyond the job's budget
  work.progress.placed({work.at, size, place, more ? size : reserved});
  work.progress.open(work.at, size);
  const bool has_content = work.content == Content::some;
  const auto absent = has_content ? std::ranges::count(work.pages(size), k_no_place) : 1;
  const auto there = size - work.missing(place, size);
  if (has_content && there + static_cast<std::uint64_t>(absent) * k_page < size) {
    const auto left = work.order.first(work.rank);  // places that have been left
    work.outcome.again |= std::ranges::any_of(
        work.pages(size), [&](PlaceId page) { return std::ranges::find(left, page) != left.end(); });
    work.note(system_.bring(work.at, size, place));
  }
  if (absent > 0) work.note(system_.populate(work.at, size));
  ledger_.populated(place, {reserved});
  work.at += size;
  return true;
}

// Nothing is populated; a place may be preferred.
void OrderedFill::leave(Work& work, PlaceId place, std::uint64_t size) noexcept {
  if (place != k_no_place) system_.prefer(work.at, size, place);
  work.progress.placed({work.at, size, k_no_place, 0});
  work.progress.open(work.at, size);
  work.at += size;
}

bool OrderedFill::take_from(Work& work, PlaceId place) noexcept {
  const auto keep = marks_[place];
  const auto large = settings_.large.value;
  if (work.content == Content::none && work.end - work.at >= large && take_at_once(place, large, keep))
    return settle(work, place, large, large);
  const auto missing = work.missing(place, work.batch);
  std::uint64_t reserved = 0;
  if (missing > 0 && work.rank < work.left)
    reserved = take_at_once(place, missing, keep) ? missing : 0;
  else if (missing > 0)
    reserved = reserve(place, missing, keep);
  const auto size = work.beginning(place, reserved);
  return size > 0 && settle(work, place, size, reserved);
}

// All places are at their marks, or refuse. What is there stays where it is.
void OrderedFill::take_last_resort(Work& work) noexcept {
  auto size = work.batch;
  if (work.content == Content::some) {
    size = work.run();
    if (const auto here = work.where.front(); here != k_no_place) {
      if (!settle(work, here, size, 0)) leave(work, k_no_place, size);
      return;
    }
  }
  auto best = k_no_place;
  std::uint64_t most = k_page - 1;
  for (const auto place : work.order) {
    if (!serves(place)) continue;
    const auto above = rest_of(system_.free(place), system_.reserve(place) + ledger_.outstanding(place).value);
    if (above <= most) continue;
    most = above;
    best = place;
  }
  if (best == k_no_place) {
    work.note(ENOMEM);
    return leave(work, k_no_place, size);
  }
  const auto reserved = reserve(best, size, system_.reserve(best));
  if (reserved == 0) work.note(ENOMEM);
  if (reserved == 0 || !settle(work, best, reserved, reserved)) leave(work, best, size);
}

void OrderedFill::take_batch(Work& work) noexcept {
  const auto boundary = work.at / settings_.batch.value * settings_.batch.value + settings_.batch.value;
  work.batch = std::min(boundary, work.end) - work.at;
  if (work.content == Content::some) {
    const auto pages = work.batch / k_page;
    if (const auto error = system_.where(work.at, std::span(work.where).first(pages)); error != 0) {
      work.note(error);
      return leave(work, k_no_place, work.batch);
    }
  }
  for (; work.rank < work.order.size(); ++work.rank)
    if (serves(work.order[work.rank]) && take_from(work, work.order[work.rank])) return;
  take_last_resort(work);
}

OrderedFill::Outcome OrderedFill::fill(std::uint64_t address, std::uint64_t size, std::span<const PlaceId> order,
                                       Content content, Progress& progress, std::size_t left) noexcept {
  Work work{address, address + size, order, content, progress, left};
  while (work.at < work.end) take_batch(work);
  work.outcome.left = std::max(work.rank, left);
  return work.outcome;
}

bool OrderedFill::has_room(std::uint64_t size, std::span<const PlaceId> order) const noexcept {
  const auto first = std::ranges::find_if(order, [this](PlaceId place) { return serves(place); });
  return first != order.end() && room(*first, marks_[*first]) >= size;
}

PlaceId OrderedFill::preferred(std::uint64_t size, std::span<const PlaceId> order) noexcept {
  auto best = k_no_place;
  std::uint64_t most = 0;
  for (const auto place : order) {
    if (!serves(place)) continue;
    const auto above = room(place, marks_[place]);
    if (above >= size) return place;
    if (best != k_no_place && above <= most) continue;
    best = place;
    most = above;
  }
  return best;
}

}  // namespace terrace::memory
