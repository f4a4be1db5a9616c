// SPDX-License-Identifier: Apache-2.0
// Implements the allocator of processing-in-memory (PIM) devices: first and best fit in one bank or across banks,
// blocks beside others, groups, and handles that detect stale use. Called through bmem.h, by Lease and by replays.
#include "pim/allocator.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "core/error.hpp"
#include "pim/grouping.hpp"

namespace terrace::pim {
namespace {

constexpr std::uint32_t k_generation_bits = 24;
constexpr std::uint32_t k_generation = (1U << k_generation_bits) - 1;

std::uint32_t generation_of(Handle handle) {
  return static_cast<std::uint32_t>(handle.value >> 32) & k_generation;
}

FreeBitmap::Alignment alignment_of(const Request& request) {
  return {request.row_alignment, request.subarray_alignment};
}

bool is_aligned(const Request& request) { return request.row_alignment > 1 || request.subarray_alignment > 1; }

// Returns whether `shape` fails because it contains `refused`, which failed.
bool holds(const Shape& shape, const Shape& refused) {
  return shape.rows >= refused.rows && shape.subarrays >= refused.subarrays;
}

std::uint64_t next_birth() {
  static std::atomic<std::uint64_t> births{0};
  return ++births;
}

// This thread's home bank, where its searches begin, and the allocator that it belongs to.
struct Home {
  std::uint64_t birth = 0;
  std::uint32_t bank = 0;
};
thread_local Home thread_home;

}  // namespace

// Locks consecutive banks in ascending order, so that threads that lock several cannot deadlock.
class Allocator::Locked {
 public:
  Locked(const Allocator& allocator, const Banks& banks) : allocator_(allocator), banks_(banks) {
    for (std::uint32_t i = 0; i < banks.count; ++i) allocator.banks_[banks.first + i].lock.lock();
  }
  ~Locked() {
    for (auto i = banks_.count; i > 0; --i) allocator_.banks_[banks_.first + i - 1].lock.unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const Allocator& allocator_;
  Banks banks_;
};

Allocator::Allocator(const Geometry& geometry, std::uint8_t tag)
    : geometry_((check(geometry), geometry)),
      tag_(tag),
      birth_(next_birth()),
      width_bits_(static_cast<std::uint32_t>(std::bit_width(geometry.width() - 1))) {
  if (tag == 0) throw Error(Code::invalid, "the tag of an allocator is 0; pass 1 to 255");
  bitmaps_.reserve(geometry.devices);
  for (std::uint32_t i = 0; i < geometry.devices; ++i)
    bitmaps_.emplace_back(geometry.rows, geometry.width(), geometry.subarrays);
  refused_.resize(geometry.devices);
  banks_ = std::make_unique<Bank[]>(all().count);
  for (std::uint32_t i = 0; i < all().count; ++i) {
    banks_[i].free = std::uint64_t{geometry.rows} * geometry.subarrays;
    banks_[i].device = i / geometry.banks;
    banks_[i].range = {i % geometry.banks * geometry.subarrays, geometry.subarrays};
  }
  bank_of_ = std::make_unique<std::uint16_t[]>(geometry.width());
  for (std::uint32_t i = 0; i < geometry.width(); ++i)
    bank_of_[i] = static_cast<std::uint16_t>(i / geometry.subarrays);
  records_ = std::make_unique<Record[]>((std::uint64_t{geometry.devices} * geometry.rows) << width_bits_);
}

// --- requests ---

// Refuses requests that no empty device could hold; called before each allocation.
void check(const Geometry& geometry, const Request& request) {
  const auto rows = request.shape.rows;
  const auto subarrays = request.shape.subarrays;
  const auto most = request.within == Within::subarray ? 1
                    : request.within == Within::bank   ? geometry.subarrays
                                                       : geometry.width();
  const auto asked = [&] { return std::to_string(rows) + " rows x " + std::to_string(subarrays) + " subarrays"; };
  if (rows == 0 || subarrays == 0)
    throw Error(Code::invalid, asked() + " were requested; request at least 1 row of 1 subarray");
  if (rows > geometry.rows || subarrays > most)
    throw Error(Code::invalid, asked() + " were requested, but a " +
                                   (request.within == Within::subarray ? "subarray"
                                    : request.within == Within::bank   ? "bank"
                                                                       : "device") +
                                   " has " + std::to_string(geometry.rows) + " x " + std::to_string(most) +
                                   "; request fewer");
  if (request.row_alignment == 0 || request.subarray_alignment == 0)
    throw Error(Code::invalid, "alignment to " + std::to_string(request.row_alignment) + " rows and " +
                                   std::to_string(request.subarray_alignment) +
                                   " subarrays was requested; pass 1 instead of 0 for any position");
}

void check_member(const Geometry& geometry, const Request& request) {
  check(geometry, request);
  if (request.fit == Fit::best || request.beside)
    throw Error(Code::invalid,
                "a request of a group has a best fit or a block beside it, which groups do not support; allocate "
                "it alone");
}

Handle Allocator::allocate(const Request& request) {
  check(geometry_, request);
  return request.beside ? allocate_beside(request) : allocate_among(all(), request);
}

// Searches the banks one after the other from the thread's home bank, then all of them under their locks.
Handle Allocator::allocate_among(const Banks& banks, const Request& request) {
  const bool fits_bank = request.shape.subarrays <= geometry_.subarrays;
  if (fits_bank && request.fit == Fit::first) {
    auto begin = home(banks);
    std::unique_lock lock(banks_[begin].lock, std::try_to_lock);
    if (!lock) {
      begin = other_home(banks);
      lock = std::unique_lock(banks_[begin].lock);
    }
    for (auto bank = begin;;) {
      if (const auto handle = first_in(bank, request)) return handle;
      lock.unlock();
      if (++bank == banks.first + banks.count) bank = banks.first;
      if (bank == begin) break;
      lock = std::unique_lock(banks_[bank].lock);
    }
    if (banks.count == 1) return {};
  }
  // Search again under all locks: blocks may have been released meanwhile, and several banks together may
  // suffice.
  const Locked locked(*this, banks);
  if (fits_bank) {
    if (request.fit == Fit::best) {
      if (const auto handle = best_in(banks, request)) return handle;
    } else {
      for (std::uint32_t i = 0; i < banks.count; ++i)
        if (const auto handle = first_in(banks.first + i, request)) return handle;
    }
  }
  if (request.within != Within::device) return {};
  for (auto device = banks.first / geometry_.banks; device * geometry_.banks < banks.first + banks.count; ++device)
    if (const auto handle = across(device, request)) return handle;
  return {};
}

// Searches where the new block shares the subarray, bank or device of an existing one.
Handle Allocator::allocate_beside(const Request& request) {
  const auto beside = block(request.beside);
  if (!beside)
    throw Error(Code::invalid, "beside: the block does not exist or was released; pass an allocated block");
  const auto bank = beside->device * geometry_.banks + beside->subarray / geometry_.subarrays;
  const auto width = request.shape.subarrays;
  switch (request.share) {
    case Within::device:
      return allocate_among({beside->device * geometry_.banks, geometry_.banks}, request);
    case Within::bank:
      if (width > geometry_.subarrays) return {};
      {
        auto inside = request;
        inside.within = std::min(request.within, Within::bank);
        return allocate_among({bank, 1}, inside);
      }
    case Within::subarray:
      break;
  }
  const auto in_bank = beside->subarray % geometry_.subarrays;
  if (beside->subarray + width > geometry_.width()) return {};
  if (request.within != Within::device && in_bank + width > geometry_.subarrays) return {};
  const Place at{beside->device, {0, beside->subarray}};
  const Locked locked(*this, banks_of(at, request.shape));
  return place(beside->device, {beside->subarray, width}, request);
}

std::vector<Handle> Allocator::allocate_group(std::span<const Request> requests, Within share) {
  if (requests.empty() || requests.size() > k_max_group)
    throw Error(Code::invalid, "a group of " + std::to_string(requests.size()) +
                                   " blocks was requested; request 1 to " + std::to_string(k_max_group) +
                                   " at a time");
  for (const auto& request : requests) check_member(geometry_, request);
  const Locked locked(*this, all());
  const auto taken = [&](std::uint32_t device, const std::optional<std::vector<FreeBitmap::Spot>>& spots) {
    std::vector<Handle> handles;
    for (std::size_t i = 0; spots && i < spots->size(); ++i)
      handles.push_back(take({device, (*spots)[i]}, requests[i].shape));
    return handles;
  };
  for (std::uint32_t device = 0; device < geometry_.devices; ++device) {
    auto& bitmap = bitmaps_[device];
    const auto step = share == Within::device ? geometry_.width()
                      : share == Within::bank ? geometry_.subarrays
                                              : 1;
    for (std::uint32_t first = 0; first < geometry_.width(); first += step) {
      const auto spots = share == Within::subarray
                             ? group_at(bitmap, first, requests, geometry_.subarrays)
                             : group_inside(bitmap, {first, step}, requests, geometry_.subarrays);
      if (spots) return taken(device, spots);
    }
  }
  return {};
}

// --- placement ---

// Allocates the first fit in one bank; fails at once if a smaller shape has failed since the last release.
Handle Allocator::first_in(std::uint32_t number, const Request& request) {
  auto& bank = banks_[number];
  const auto& shape = request.shape;
  if (bank.free < shape.units() || holds(shape, bank.refused)) return {};
  const auto& bitmap = bitmaps_[bank.device];
  if (shape.rows == 1 && shape.subarrays == 1 && !is_aligned(request)) {  // exists, because some unit is free
    const auto spot = bitmap.first_unit(bank.range, bank.row);
    bank.row = spot.row;
    return take({bank.device, spot}, shape);
  }
  bank.row = bitmap.first_free(bank.range, bank.row);
  if (const auto spot = bitmap.first_fit(bank.range, shape, alignment_of(request), {bank.row, 0}))
    return take({bank.device, *spot}, shape);
  if (!is_aligned(request) && shape.units() < bank.refused.units()) bank.refused = shape;
  return {};
}

Handle Allocator::best_in(const Banks& banks, const Request& request) {
  std::optional<FreeBitmap::Found> best;
  std::uint32_t device = 0;
  for (std::uint32_t number = banks.first; number < banks.first + banks.count; ++number) {
    const auto& bank = banks_[number];
    if (bank.free < request.shape.units() || holds(request.shape, bank.refused)) continue;
    const auto found =
        bitmaps_[bank.device].best_fit(bank.range, request.shape, alignment_of(request), request.dim);
    if (!found || (best && best->slack <= found->slack)) continue;
    best = found;
    device = bank.device;
    if (best->slack == 0) break;
  }
  return best ? take({device, best->spot}, request.shape) : Handle{};
}

// Allocates anywhere on a device, across the borders of banks.
Handle Allocator::across(std::uint32_t device, const Request& request) {
  std::uint64_t released = 0;
  for (std::uint32_t i = 0; i < geometry_.banks; ++i) released += banks_[device * geometry_.banks + i].released;
  auto& refused = refused_[device];
  if (refused.released != released) refused = {k_unlimited, released};
  if (holds(request.shape, refused.shape)) return {};
  if (const auto handle = place(device, {0, geometry_.width()}, request)) return handle;
  if (!is_aligned(request) && request.shape.units() < refused.shape.units()) refused.shape = request.shape;
  return {};
}

// Allocates in a range of subarrays, by first or best fit.
Handle Allocator::place(std::uint32_t device, const FreeBitmap::Range& range, const Request& request) {
  const auto& bitmap = bitmaps_[device];
  if (request.fit == Fit::best) {
    const auto found = bitmap.best_fit(range, request.shape, alignment_of(request), request.dim);
    return found ? take({device, found->spot}, request.shape) : Handle{};
  }
  auto row = geometry_.rows;  // lowest row that may be free in any of its banks
  const auto banks = banks_of({device, {0, range.first}}, {1, range.count});
  for (auto number = banks.first; number < banks.first + banks.count; ++number) {
    auto& bank = banks_[number];
    bank.row = bitmap.first_free(bank.range, bank.row);
    row = std::min(row, bank.row);
  }
  const auto spot = bitmap.first_fit(range, request.shape, alignment_of(request), {row, 0});
  return spot ? take({device, *spot}, request.shape) : Handle{};
}

// Marks the rectangle as allocated and issues its handle.
Handle Allocator::take(const Place& place, const Shape& shape) {
  bitmaps_[place.device].take(place.spot, shape);
  each_bank(place, shape, [](Bank& bank, std::uint64_t units) { bank.free -= units; });
  const auto index = index_of(place);
  auto& record = records_[index];
  ++record.generation;
  record.shape = shape;
  return {std::uint64_t{tag_} << 56 | std::uint64_t{record.generation & k_generation} << 32 | index};
}

Released Allocator::release(Handle handle) {
  const auto place = place_of(handle);
  if (!place) return Released::foreign;
  const auto first = banks_of(*place, {1, 1});
  const Locked locked(*this, first);
  auto& record = records_[index_of(*place)];
  const auto age = (record.generation - generation_of(handle)) & k_generation;
  // Generation counters wrap: half of all values count as past, the others as never issued.
  if (age != 0) return age < k_generation / 2 ? Released::already : Released::foreign;
  const auto shape = record.shape;
  const Locked rest(*this, {first.first + 1, banks_of(*place, shape).count - 1});
  bitmaps_[place->device].release(place->spot, shape);
  each_bank(*place, shape, [&](Bank& bank, std::uint64_t units) {
    bank.free += units;
    bank.row = std::min(bank.row, place->spot.row);
    bank.refused = k_unlimited;
    ++bank.released;
  });
  ++record.generation;
  return Released::done;
}

std::optional<Block> Allocator::block(Handle handle) const {
  const auto place = place_of(handle);
  if (!place) return std::nullopt;
  const Locked locked(*this, banks_of(*place, {1, 1}));
  const auto& record = records_[index_of(*place)];
  if ((record.generation & k_generation) != generation_of(handle)) return std::nullopt;
  return Block{place->device, place->spot.subarray, place->spot.row, record.shape};
}

std::optional<Address> Allocator::begin_of(Handle handle) const {
  const auto place = place_of(handle);
  if (!place) return std::nullopt;
  return first_of(geometry_, {place->device, place->spot.subarray, place->spot.row, {1, 1}});
}

// --- queries ---

std::uint64_t Allocator::free_units() const {
  const Locked locked(*this, all());
  std::uint64_t free = 0;
  for (std::uint32_t i = 0; i < all().count; ++i) free += banks_[i].free;
  return free;
}

std::vector<FreeBitmap> Allocator::snapshot() const {
  const Locked locked(*this, all());
  return bitmaps_;
}

template <typename Visit>
void Allocator::each_bank(const Place& place, const Shape& shape, Visit visit) {
  const auto banks = banks_of(place, shape);
  const auto end = place.spot.subarray + shape.subarrays;
  for (auto number = banks.first; number < banks.first + banks.count; ++number) {
    auto& bank = banks_[number];
    const auto begin = std::max(bank.range.first, place.spot.subarray);
    visit(bank, std::uint64_t{std::min(bank.range.first + bank.range.count, end) - begin} * shape.rows);
  }
}

Allocator::Banks Allocator::banks_of(const Place& place, const Shape& shape) const {
  const std::uint32_t first = bank_of_[place.spot.subarray];
  const std::uint32_t last = bank_of_[place.spot.subarray + shape.subarrays - 1];
  return {place.device * geometry_.banks + first, last - first + 1};
}

std::uint64_t Allocator::index_of(const Place& place) const {
  return (std::uint64_t{place.device} * geometry_.rows + place.spot.row) << width_bits_ | place.spot.subarray;
}

// Returns where the block of a handle begins, if this allocator can have issued it.
std::optional<Allocator::Place> Allocator::place_of(Handle handle) const {
  const auto index = static_cast<std::uint32_t>(handle.value);
  const auto subarray = index & ((1U << width_bits_) - 1);
  const auto row = index >> width_bits_;
  const auto device = row < geometry_.rows ? 0 : row / geometry_.rows;  // usually succeeds
  if (handle.value >> 56 != tag_ || subarray >= geometry_.width() || device >= geometry_.devices)
    return std::nullopt;
  if (generation_of(handle) % 2 == 0) return std::nullopt;
  return Place{device, {row - device * geometry_.rows, subarray}};
}

// --- home banks of threads ---

std::uint32_t Allocator::home(const Banks& among) const {
  if (thread_home.birth != birth_) thread_home = {birth_, 0};
  const auto bank = thread_home.bank;
  return bank >= among.first && bank < among.first + among.count ? bank : among.first;
}

std::uint32_t Allocator::other_home(const Banks& among) {
  thread_home = {birth_, (next_home_.fetch_add(1, std::memory_order_relaxed) + 1) % all().count};
  return home(among);
}

}  // namespace terrace::pim
