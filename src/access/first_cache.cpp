#include "access/first_cache.hpp"

#include <algorithm>
#include <bit>

namespace terrace::access {

FirstCache::FirstCache(Bytes size, std::uint32_t ways, Bytes line, FastTable& table)
    : shape_(size, ways, line),
      line_bits_(static_cast<unsigned>(std::countr_zero(line.value))),
      table_(table),
      signature_words_(signature_words(shape_.ways)),
      signatures_(std::make_unique<std::uint64_t[]>(shape_.sets * signature_words_)),
      words_(std::make_unique<std::uint64_t[]>(shape_.sets * shape_.ways)),
      used_(std::make_unique<std::uint64_t[]>(shape_.sets * shape_.ways)),
      from_(std::make_unique<std::uint64_t[]>(shape_.sets * shape_.ways)) {}

std::uint32_t FirstCache::insert(std::uint64_t line, std::uint64_t flags, std::uint64_t from,
                                 std::uint64_t& victim) {
  const std::uint64_t set = shape_.index(line);
  const std::uint64_t first = set * shape_.ways;
  // Which way is oldest cannot be foretold: minima without branches, of the time and the way in one word.
  const std::uint64_t* const used = used_.get() + first;
  const auto key = [&](std::uint32_t way) { return used[way] << k_way_bits | way; };
  std::uint64_t oldest[2] = {key(0), ~std::uint64_t{0}};
  std::uint32_t way = 1;
  for (; way + 1 < shape_.ways; way += 2) {
    oldest[0] = std::min(oldest[0], key(way));
    oldest[1] = std::min(oldest[1], key(way + 1));
  }
  if (way < shape_.ways) oldest[1] = std::min(oldest[1], key(way));
  const auto victim_way = static_cast<std::uint32_t>(std::min(oldest[0], oldest[1]) & ((1u << k_way_bits) - 1));
  const auto slot = static_cast<std::uint32_t>(first) + victim_way;
  victim = words_[slot];
  if (victim != 0) {
    // A line that is not aligned like the host's (a stack's) may be in the table twice.
    const std::uint64_t last = from_[slot] + (std::uint64_t{1} << line_bits_) - 1;
    forget(slot, from_[slot]);
    if (from_[slot] >> line_bits_ != last >> line_bits_) forget(slot, last);
    ++evictions_;
  }
  ++fills_;
  words_[slot] = word::of(line) | flags;
  from_[slot] = from;
  set_signature(signatures_.get() + set * signature_words_, victim_way, signature_of(line));
  return slot;
}

void FirstCache::forget(std::uint32_t slot, std::uint64_t address) {
  FastLine& fast = table_.of(address, line_bits_);
  if (fast.slot == slot) fast.load_from = fast.store_from = FastLine::k_none;
}

std::uint64_t FirstCache::resident() const {
  return static_cast<std::uint64_t>(std::count_if(words_.get(), words_.get() + shape_.sets * shape_.ways,
                                                  [](std::uint64_t word) { return word != 0; }));
}

}  // namespace terrace::access
