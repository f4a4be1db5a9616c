// SPDX-License-Identifier: Apache-2.0
// Implements the model of a PIM device: stores rows that were written, executes operations of the sense amplifiers
// on them, and counts row cycles. Called by Alu, and by the transfers of vectors. See array.hpp.
#include "pim/array.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/error.hpp"
#include "core/rounding.hpp"

namespace terrace::pim {
namespace {

std::string place(const Line& line) {
  const auto last = std::uint64_t{line.subarray} + line.subarrays - 1;
  return "subarray" +
         (line.subarrays == 1 ? " " + std::to_string(line.subarray)
                              : "s " + std::to_string(line.subarray) + "-" + std::to_string(last)) +
         " of device " + std::to_string(line.device);
}

// Returns the row cycles in which a bus or an interface passes one row of a subarray.
std::uint64_t pass(std::uint32_t columns, std::uint32_t bits, std::uint32_t beats, const char* what) {
  if (bits == 0 || beats == 0)
    throw Error(Code::invalid, std::string(what) + " of " + std::to_string(bits) + " bits and " +
                                   std::to_string(beats) + " beats; set both above 0 in Costs");
  return ceil_div(ceil_div(columns, bits), beats);
}

// Returns the maximum, over banks, of the number of the line's subarrays for which `counts` holds.
template <typename Counts>
std::uint64_t max_in_a_bank(const Geometry& geometry, const Line& line, Counts counts) {
  std::uint64_t most = 0;
  for (std::uint32_t n = 0; n < line.subarrays;) {
    const auto bank = (line.subarray + n) / geometry.subarrays;
    std::uint64_t here = 0;
    for (; n < line.subarrays && (line.subarray + n) / geometry.subarrays == bank; ++n) here += counts(n);
    most = std::max(most, here);
  }
  return most;
}

// Shifts out of place: `by` columns up (> 0) or down.
void shifted(std::span<Word> to, std::span<const Word> from, std::int64_t by) {
  const auto distance = static_cast<std::size_t>(std::abs(by));
  const auto whole = distance / 64, part = distance % 64;
  const auto size = from.size();
  for (std::size_t i = 0; i + whole < size; ++i) {
    const auto target = by > 0 ? size - 1 - i : i;
    const auto near = by > 0 ? target - whole : target + whole;
    const bool more = by > 0 ? near > 0 : near + 1 < size;
    if (by > 0)
      to[target] = (from[near] << part) | (part != 0 && more ? from[near - 1] >> (64 - part) : 0);
    else
      to[target] = (from[near] >> part) | (part != 0 && more ? from[near + 1] << (64 - part) : 0);
  }
}

}  // namespace

Array::Array(const Geometry& geometry, const Costs& costs) : geometry_(geometry), costs_(costs) {
  check(geometry);
  bus_pass_ = pass(geometry.columns, costs.bus_bits, costs.bus_beats, "a bus");
  interface_pass_ = pass(geometry.columns, costs.interface_bits, costs.interface_beats, "an interface");
  zeros_.resize(ceil_div(geometry.columns, 64));
  last_ = ~Word{0} >> (zeros_.size() * 64 - geometry.columns);
}

void Array::need_inside(const char* what, const Line& line) const {
  if (line.subarrays > 0 && line.device < geometry_.devices && line.row < geometry_.rows &&
      std::uint64_t{line.subarray} + line.subarrays <= geometry_.width())
    return;
  if (line.subarrays == 0)
    throw Error(Code::invalid, std::string(what) + ": the row spans 0 subarrays; pass one that spans at least 1");
  throw Error(Code::invalid, std::string(what) + ": row " + std::to_string(line.row) + " of " + place(line) +
                                 " is outside of " + describe(geometry_) + "; pass a row inside");
}

void Array::need_beside(const char* what, const Line& to, const Line& other) const {
  need_inside(what, other);
  if (to.device == other.device && to.subarray == other.subarray && to.subarrays == other.subarrays) return;
  throw Error(Code::invalid, std::string(what) + ": an operand is in " + place(other) + ", the target in " +
                                 place(to) + "; copy it there first with transfer()");
}

std::uint64_t Array::unit(const Line& line, std::uint32_t n) const {
  return (std::uint64_t{line.device} * geometry_.width() + line.subarray + n) * geometry_.rows + line.row;
}

const Word* Array::read(const Line& line, std::uint32_t n) const {
  const auto found = rows_.find(unit(line, n));
  return found == rows_.end() ? zeros_.data() : found->second.get();
}

Word* Array::write(const Line& line, std::uint32_t n) {
  auto& row = rows_[unit(line, n)];
  if (!row) row = std::make_unique<Word[]>(words());
  return row.get();
}

void Array::put(const Line& line, std::uint32_t n, std::span<const Word> bits) {
  auto* row = write(line, n);
  std::copy(bits.begin(), bits.end(), row);
  row[words() - 1] &= last_;
}

// Executes one operation on whole rows, in all subarrays of the lines, and counts its cycles.
template <typename Function>
void Array::compute(const char* what, const Line& to, const Line& a, const Line& b,
                    const std::optional<Where>& where, std::uint32_t cost, Function function) {
  need_inside(what, to);
  need_beside(what, to, a);
  need_beside(what, to, b);
  if (where) need_beside(what, to, where->mask);
  const Word flip = where && !where->value ? ~Word{0} : 0;
  for (std::uint32_t n = 0; n < to.subarrays; ++n) {
    auto* target = write(to, n);
    const auto* x = read(a, n);
    const auto* y = read(b, n);
    if (where) {
      const auto* mask = read(where->mask, n);
      for (std::size_t i = 0; i < words(); ++i) {
        const auto open = mask[i] ^ flip;
        target[i] = (target[i] & ~open) | (function(x[i], y[i]) & open);
      }
    } else {
      for (std::size_t i = 0; i < words(); ++i) target[i] = function(x[i], y[i]);
    }
    target[words() - 1] &= last_;
  }
  cycles_.compute += cost + (where ? costs_.mask : 0);
}

void Array::logic(Gate gate, const Line& to, const Line& a, const Line& b, const std::optional<Where>& where) {
  const auto run = [&](const char* what, auto function) {
    compute(what, to, a, b, where, costs_.logic, function);
  };
  switch (gate) {
    case Gate::and_:
      return run("and", [](Word x, Word y) { return x & y; });
    case Gate::nand:
      return run("nand", [](Word x, Word y) { return ~(x & y); });
    case Gate::or_:
      return run("or", [](Word x, Word y) { return x | y; });
    case Gate::nor:
      return run("nor", [](Word x, Word y) { return ~(x | y); });
    case Gate::xor_:
      return run("xor", [](Word x, Word y) { return x ^ y; });
    case Gate::xnor:
      return run("xnor", [](Word x, Word y) { return ~(x ^ y); });
  }
}

void Array::invert(const Line& to, const Line& from, const std::optional<Where>& where) {
  compute("not", to, from, from, where, costs_.invert, [](Word x, Word) { return ~x; });
}

void Array::copy(const Line& to, const Line& from, const std::optional<Where>& where) {
  compute("copy", to, from, from, where, costs_.copy, [](Word x, Word) { return x; });
}

void Array::fill(const Line& to, bool value, const std::optional<Where>& where) {
  const auto bits = value ? ~Word{0} : Word{0};
  compute(value ? "set" : "clear", to, to, to, where, costs_.fill, [bits](Word, Word) { return bits; });
}

void Array::shift(const Line& to, const Line& from, std::int64_t by) {
  need_inside("shift", to);
  need_beside("shift", to, from);
  const auto distance =
      by < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(by) : static_cast<std::uint64_t>(by);
  if (distance == 0 || distance >= geometry_.columns)
    throw Error(Code::invalid, "shift by " + std::to_string(by) + " columns, but a subarray has " +
                                   std::to_string(geometry_.columns) + "; shift by fewer, or call copy() for 0");
  std::vector<Word> moved(words());
  for (std::uint32_t n = 0; n < to.subarrays; ++n) {
    std::fill(moved.begin(), moved.end(), 0);
    shifted(moved, {read(from, n), words()}, by);
    put(to, n, moved);
  }
  cycles_.compute += costs_.shift + (distance - 1) * costs_.shift_further;
}

void Array::transfer(const Line& to, const Line& from) {
  need_inside("transfer", to);
  need_inside("transfer", from);
  if (to.subarrays != from.subarrays)
    throw Error(Code::invalid, "transfer: from " + place(from) + " to " + place(to) +
                                   "; pass two rows that span equally many subarrays");
  const auto stays = [&](std::uint32_t n) {
    return to.device == from.device &&
           (to.subarray + n) / geometry_.subarrays == (from.subarray + n) / geometry_.subarrays;
  };
  // Read everything before writing: the lines may overlap.
  std::vector<std::vector<Word>> rows;
  for (std::uint32_t n = 0; n < from.subarrays; ++n) rows.emplace_back(read(from, n), read(from, n) + words());
  for (std::uint32_t n = 0; n < to.subarrays; ++n) put(to, n, rows[n]);

  cycles_.copies += 2 * costs_.activation + max_in_a_bank(geometry_, from, [](auto) { return 1; }) * bus_pass_ +
                    max_in_a_bank(geometry_, to, [&](auto n) { return stays(n) ? 0 : 1; }) * bus_pass_;
  if (to.device != from.device)
    cycles_.copies += std::uint64_t{to.subarrays} * costs_.interface_passes * interface_pass_;
}

void Array::store(const Line& to, std::span<const Word> bits) {
  need_inside("store", to);
  if (to.subarrays != 1)
    throw Error(Code::invalid,
                "store: to " + place(to) + "; pass a row of 1 subarray: the host writes one subarray at a time");
  broadcast(to, bits);
}

void Array::broadcast(const Line& to, std::span<const Word> bits) {
  need_inside("store", to);
  if (bits.size() != words())
    throw Error(Code::invalid, "store: " + std::to_string(bits.size()) + " words for a row of " +
                                   std::to_string(words()) + "; pass as many as the row has");
  for (std::uint32_t n = 0; n < to.subarrays; ++n) put(to, n, bits);
  cycles_.host += costs_.activation + bus_pass_ + interface_pass_;
}

std::vector<Word> Array::load(const Line& from) {
  need_inside("load", from);
  if (from.subarrays != 1)
    throw Error(Code::invalid,
                "load: from " + place(from) + "; pass a row of 1 subarray: the host reads one subarray at a time");
  cycles_.host += costs_.activation + bus_pass_ + interface_pass_;
  return {read(from, 0), read(from, 0) + words()};
}

}  // namespace terrace::pim
