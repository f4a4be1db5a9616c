// SPDX-License-Identifier: Apache-2.0
// Searches free rectangles in the bitmap of a PIM device, 64 rows at a time. The allocator calls it under the
// locks of the banks that it searches. See free_bitmap.hpp.
#include "pim/free_bitmap.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>

namespace terrace::pim {
namespace {

constexpr std::uint32_t k_bits = 64;
constexpr std::uint32_t k_none = std::numeric_limits<std::uint32_t>::max();

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t multiple) {
  return multiple == 1 ? value : (value + multiple - 1) / multiple * multiple;
}

// Returns the mask of the rows [begin, end) of a stripe, counted from the device's first row.
std::uint64_t rows_between(std::uint32_t stripe, std::uint64_t begin, std::uint64_t end) {
  const auto base = std::uint64_t{stripe} * k_bits;
  const auto low = begin <= base ? 0 : begin - base;
  const auto high = end <= base ? 0 : end - base;
  if (low >= k_bits || high <= low) return 0;
  const auto from_low = ~std::uint64_t{0} << low;
  return high >= k_bits ? from_low : from_low & ~(~std::uint64_t{0} << high);
}

// Returns the mask of the rows of a stripe (64 rows) at which an aligned block may begin.
std::uint64_t aligned_rows(std::uint32_t stripe, std::uint32_t alignment) {
  const auto base = std::uint64_t{stripe} * k_bits;
  std::uint64_t mask = 0;
  for (auto row = rounded_up(base, alignment); row < base + k_bits; row += alignment)
    mask |= std::uint64_t{1} << (row - base);
  return mask;
}

// Holds the scratch words of a search: on the stack if there are few.
class Scratch {
 public:
  explicit Scratch(std::size_t count) {
    if (count > few_.size()) many_.resize(count);
  }
  std::uint64_t* data() { return many_.empty() ? few_.data() : many_.data(); }

 private:
  std::array<std::uint64_t, 128>
      few_;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  std::vector<std::uint64_t> many_;
};

}  // namespace

FreeBitmap::FreeBitmap(std::uint32_t rows, std::uint32_t subarrays, std::uint32_t bank)
    : rows_(rows), subarrays_(subarrays), bank_(bank), stripes_((rows + k_bits - 1) / k_bits), begin_(subarrays) {
  constexpr auto pair = k_cache_line_pair / sizeof(Word);
  // One extra cache line between banks: the hardware prefetcher of sequential reads touches the next lines,
  // too.
  const auto of_a_bank = rounded_up(std::uint64_t{stripes_} * bank, pair) + pair;
  for (std::uint32_t i = 0; i < subarrays; ++i) begin_[i] = i / bank * of_a_bank + i % bank;
  words_.resize(subarrays / bank * of_a_bank);
  release({0, 0}, {rows, subarrays});
}

template <typename Words, typename Visit>
void FreeBitmap::parts(Words& all, std::uint32_t subarray, std::uint32_t count, Visit visit) const {
  if (in_one_bank(subarray, count)) return visit(&all[begin_[subarray]], count);
  for (const auto end = subarray + count; subarray < end;) {
    const auto part = std::min(end - subarray, bank_ - subarray % bank_);
    visit(&all[begin_[subarray]], part);
    subarray += part;
  }
}

// Calls change(word, rows) for all words of a block; `rows` masks the block's rows in the word.
template <typename Change>
void FreeBitmap::change(const Spot& spot, const Shape& shape, Change change) {
  if (shape.rows == 1 && shape.subarrays == 1)  // fast path of most small requests
    return change(words_[begin_[spot.subarray] + std::size_t{spot.row / k_bits} * bank_],
                  Word{1} << (spot.row % k_bits));
  const auto end = spot.row + shape.rows;
  parts(words_, spot.subarray, shape.subarrays, [&](Word* words, std::uint32_t count) {
    for (auto stripe = spot.row / k_bits; stripe * k_bits < end; ++stripe) {
      const auto rows = rows_between(stripe, spot.row, end);
      auto* const here = words + std::size_t{stripe} * bank_;
      for (std::uint32_t i = 0; i < count; ++i) change(here[i], rows);
    }
  });
}

void FreeBitmap::take(const Spot& spot, const Shape& shape) {
  change(spot, shape, [](Word& word, Word rows) { word &= ~rows; });
}

void FreeBitmap::release(const Spot& spot, const Shape& shape) {
  change(spot, shape, [](Word& word, Word rows) { word |= rows; });
}

FreeBitmap::Word FreeBitmap::across(std::uint32_t stripe, std::uint32_t subarray, std::uint32_t count) const {
  if (count == 1) return word(stripe, subarray);
  auto all = ~Word{0};
  parts(words_, subarray, count, [&](const Word* words, std::uint32_t part) {
    words += std::size_t{stripe} * bank_;
    for (std::uint32_t i = 0; i < part; ++i) all &= words[i];
  });
  return all;
}

// Sets out[i] to the rows that are free in all of `count` subarrays from the range's i-th on, for each possible
// start.
void FreeBitmap::gather(std::uint32_t stripe, const Range& range, std::uint32_t count, Word* out) const {
  if (stripe >= stripes_) {
    std::fill_n(out, range.count, 0);
    return;
  }
  Word any = 0;
  parts(words_, range.first, range.count, [&, to = out](const Word* words, std::uint32_t part) mutable {
    words += std::size_t{stripe} * bank_;
    for (std::uint32_t i = 0; i < part; ++i) any |= to[i] = words[i];
    to += part;
  });
  if (any == 0) return;
  // With few starts, direct evaluation reads fewer words than the general algorithm.
  if (const auto starts = range.count - count + 1; starts <= 4) {
    for (std::uint32_t i = 0; i < starts; ++i) out[i] = across(stripe, range.first + i, count);
    return;
  }
  for (std::uint32_t have = 1, step; have < count; have += step) {
    step = std::min(have, count - have);
    for (std::uint32_t i = 0; i + have + step <= range.count; ++i) out[i] &= out[i + step];
  }
}

// Sets out[i] to the rows of the stripe at which the shape fits with the range's i-th subarray first. `above`
// is scratch of the same size.
void FreeBitmap::starts(std::uint32_t stripe, const Range& range, const Shape& shape, Word* out,
                        Word* above) const {
  gather(stripe, range, shape.subarrays, out);
  if (shape.rows == 1) return;
  const auto count = range.count - shape.subarrays + 1;
  Word any = 0;
  for (std::uint32_t i = 0; i < count; ++i) any |= out[i];
  if (any == 0) return;
  if (shape.rows > k_bits) {
    for (std::uint32_t i = 0; i < count; ++i) out[i] = tall_starts(out[i], stripe, range.first + i, shape);
    return;
  }
  gather(stripe + 1, range, shape.subarrays, above);
  for (std::uint32_t have = 1, step; have < shape.rows; have += step) {
    step = std::min(have, shape.rows - have);
    any = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      any |= out[i] &= (out[i] >> step) | (above[i] << (k_bits - step));
      above[i] &= above[i] >> step;
    }
    if (any == 0) return;
  }
}

// Shapes taller than a stripe: keeps those rows of the free run at the stripe's end for which the following
// stripes suffice.
FreeBitmap::Word FreeBitmap::tall_starts(Word word, std::uint32_t stripe, std::uint32_t subarray,
                                         const Shape& shape) const {
  const auto ending = static_cast<std::uint32_t>(std::countl_one(word));
  if (ending == 0) return 0;
  const auto need = shape.rows - ending;  // rows needed above the stripe
  std::uint32_t have = 0;
  for (auto next = stripe + 1; have < shape.rows && next < stripes_; ++next) {
    const auto more = static_cast<std::uint32_t>(std::countr_one(across(next, subarray, shape.subarrays)));
    have += more;
    if (more < k_bits) break;
  }
  if (have < need) return 0;
  const auto base = std::uint64_t{stripe} * k_bits;
  return rows_between(stripe, base + k_bits - ending, base + k_bits + have - shape.rows + 1);
}

std::optional<FreeBitmap::Spot> FreeBitmap::first_fit(const Range& range, const Shape& shape,
                                                      const Alignment& alignment, const Spot& from) const {
  if (shape.subarrays > range.count || shape.rows > rows_) return std::nullopt;
  Scratch out(range.count);
  Scratch above(range.count);
  const auto count = range.count - shape.subarrays + 1;
  const auto step = alignment.subarrays;
  const auto first = static_cast<std::uint32_t>(rounded_up(range.first, step) - range.first);
  for (auto stripe = from.row / k_bits; stripe < stripes_; ++stripe) {
    auto* const fits = out.data();
    starts(stripe, range, shape, fits, above.data());
    Word any = 0;
    if (step == 1)
      for (std::uint32_t i = 0; i < count; ++i) any |= fits[i];
    else
      for (auto i = first; i < count; i += step) any |= fits[i];
    any &= rows_between(stripe, from.row, rows_);
    if (alignment.rows != 1) any &= aligned_rows(stripe, alignment.rows);
    for (; any != 0; any &= any - 1) {  // runs once, unless the first row is that of `from`
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(any));
      const auto row = stripe * k_bits + bit;
      for (auto i = first; i < count; i += step)
        if (((fits[i] >> bit) & 1) != 0 && (row > from.row || range.first + i >= from.subarray))
          return Spot{row, range.first + i};
    }
  }
  return std::nullopt;
}

FreeBitmap::Spot FreeBitmap::first_unit(const Range& range, std::uint32_t row) const {
  const auto* words = &words_[begin_[range.first]];
  for (auto stripe = row / k_bits; stripe < stripes_; ++stripe) {
    const auto* here = words + std::size_t{stripe} * bank_;
    Word any = 0;
    for (std::uint32_t i = 0; i < range.count; ++i) any |= here[i];
    if (any == 0) continue;
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(any));
    std::uint32_t i = 0;
    while (((here[i] >> bit) & 1) == 0) ++i;
    return {stripe * k_bits + bit, range.first + i};
  }
  return {rows_, range.first};
}

// Calls visit(begin, end) for each run of rows from `from` on that are free in all of `count` subarrays, until
// it returns true.
template <typename Visit>
void FreeBitmap::runs(std::uint32_t subarray, std::uint32_t count, std::uint32_t from, Visit visit) const {
  auto begin = k_none;  // begin of the open run
  for (auto stripe = from / k_bits; stripe < stripes_; ++stripe) {
    const auto word = across(stripe, subarray, count) & rows_between(stripe, from, rows_);
    for (std::uint32_t at = 0; at < k_bits;) {
      if (begin == k_none) {
        at += static_cast<std::uint32_t>(std::countr_zero(word >> at));
        if (at < k_bits) begin = stripe * k_bits + at;
      } else {
        at += static_cast<std::uint32_t>(std::countr_one(word >> at));
        if (at >= k_bits) break;  // it continues in the next stripe
        if (visit(begin, stripe * k_bits + at)) return;
        begin = k_none;
      }
    }
  }
  if (begin != k_none) visit(begin, rows_);
}

std::optional<std::uint32_t> FreeBitmap::lowest_row(std::uint32_t subarray, const Shape& shape, std::uint32_t from,
                                                    std::uint32_t alignment) const {
  std::optional<std::uint32_t> found;
  runs(subarray, shape.subarrays, from, [&](std::uint32_t begin, std::uint32_t end) {
    const auto row = rounded_up(begin, alignment);
    if (row + shape.rows > end) return false;
    found = static_cast<std::uint32_t>(row);
    return true;
  });
  return found;
}

std::optional<FreeBitmap::Found> FreeBitmap::best_fit(const Range& range, const Shape& shape,
                                                      const Alignment& alignment, Dim dim) const {
  if (shape.subarrays > range.count || shape.rows > rows_) return std::nullopt;
  Found best{{}, k_none};
  if (dim == Dim::horizontal)
    best_horizontal(range, shape, alignment, best);
  else
    best_vertical(range, shape, alignment, best);
  if (best.slack == k_none) return std::nullopt;
  return best;
}

// Searches the shortest free run of rows, subarray by subarray.
void FreeBitmap::best_vertical(const Range& range, const Shape& shape, const Alignment& alignment,
                               Found& best) const {
  for (std::uint32_t i = 0; i + shape.subarrays <= range.count; ++i) {
    const auto subarray = range.first + i;
    if (subarray % alignment.subarrays != 0) continue;
    runs(subarray, shape.subarrays, 0, [&](std::uint32_t begin, std::uint32_t end) {
      const auto row = rounded_up(begin, alignment.rows);
      if (row + shape.rows > end) return false;
      const Found found{{static_cast<std::uint32_t>(row), subarray}, end - begin - shape.rows};
      if (std::tie(found.slack, found.spot.row) < std::tie(best.slack, best.spot.row)) best = found;
      return false;
    });
  }
}

// Tracks, for 64 rows at once, each free run of subarrays from its begin to its end.
void FreeBitmap::best_horizontal(const Range& range, const Shape& shape, const Alignment& alignment,
                                 Found& best) const {
  Scratch out(range.count);
  Scratch above(range.count);
  auto* free = out.data();
  for (std::uint32_t stripe = 0; stripe < stripes_; ++stripe) {
    starts(stripe, range, {shape.rows, 1}, free, above.data());
    const auto rows = alignment.rows == 1 ? ~Word{0} : aligned_rows(stripe, alignment.rows);
    for (std::uint32_t begin = 0; begin + shape.subarrays <= range.count; ++begin) {
      auto open = free[begin] & rows & (begin == 0 ? ~Word{0} : ~free[begin - 1]);
      for (auto end = begin + 1; open != 0; ++end) {
        const auto goes_on = end < range.count ? open & free[end] : 0;
        const auto ends = open & ~goes_on;
        open = goes_on;
        const auto subarray = rounded_up(range.first + begin, alignment.subarrays);
        if (ends == 0 || subarray + shape.subarrays > range.first + end) continue;
        const auto row = stripe * k_bits + static_cast<std::uint32_t>(std::countr_zero(ends));
        const Found found{{row, static_cast<std::uint32_t>(subarray)}, end - begin - shape.subarrays};
        if (std::tie(found.slack, found.spot.row) < std::tie(best.slack, best.spot.row)) best = found;
      }
    }
  }
}

std::uint32_t FreeBitmap::first_free(const Range& range, std::uint32_t row) const {
  for (auto stripe = row / k_bits; stripe < stripes_; ++stripe) {
    Word any = 0;
    parts(words_, range.first, range.count, [&](const Word* words, std::uint32_t part) {
      words += std::size_t{stripe} * bank_;
      for (std::uint32_t i = 0; i < part; ++i) any |= words[i];
    });
    if (any != 0) return stripe * k_bits;
  }
  return rows_;
}

}  // namespace terrace::pim
