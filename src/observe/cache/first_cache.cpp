#include "observe/cache/first_cache.hpp"

#include <algorithm>
#include <bit>

namespace terrace::observe {

namespace {

constexpr std::uint64_t k_host_line_words = 8;
constexpr std::uint64_t rounded_up(std::uint64_t words) {
  return (words + k_host_line_words - 1) / k_host_line_words * k_host_line_words;
}

}  // namespace

FirstCache::FirstCache(Bytes size, std::uint32_t ways, Bytes line, FastTable& table)
    : shape_(size, ways, line),
      line_bits_(static_cast<unsigned>(std::countr_zero(line.value))),
      table_(table),
      words_at_(shape_.ways),
      from_at_(2 * shape_.ways),
      signatures_at_(3 * shape_.ways),
      stride_(rounded_up(signatures_at_ + signature_words(shape_.ways))),
      memory_(std::make_unique<std::uint64_t[]>(shape_.sets * stride_ + k_host_line_words)),
      sets_(reinterpret_cast<std::uint64_t*>(rounded_up(reinterpret_cast<std::uint64_t>(memory_.get()) / 8) * 8)) {
}

std::uint32_t FirstCache::insert(std::uint64_t line, std::uint64_t flags, std::uint64_t from,
                                 std::uint64_t& victim) {
  const std::uint64_t first = shape_.index(line) * stride_;
  // Which way is oldest cannot be foretold: minima without branches, of the time and the way in one word.
  const std::uint64_t* const used = sets_ + first;
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
  std::uint64_t& word = sets_[slot + words_at_];
  std::uint64_t& begin = sets_[slot + from_at_];
  victim = word;
  if (victim != 0) {
    // A line that is not aligned like the host's (a stack's) may be in the table twice.
    const std::uint64_t last = begin + (std::uint64_t{1} << line_bits_) - 1;
    forget(slot, begin);
    if (begin >> line_bits_ != last >> line_bits_) forget(slot, last);
    ++evictions_;
  }
  ++fills_;
  word = word::of(line) | flags;
  begin = from;
  set_signature(sets_ + first + signatures_at_, victim_way, signature_of(line));
  return slot;
}

void FirstCache::forget(std::uint32_t slot, std::uint64_t address) {
  FastLine& fast = table_.of(address);
  if (fast.slot == slot) fast.from = FastLine::k_none;
}

std::uint64_t FirstCache::resident() const {
  std::uint64_t lines = 0;
  for (std::uint64_t set = 0; set < shape_.sets; ++set) {
    const std::uint64_t* const words = sets_ + set * stride_ + words_at_;
    lines += static_cast<std::uint64_t>(
        std::count_if(words, words + shape_.ways, [](std::uint64_t word) { return word != 0; }));
  }
  return lines;
}

}  // namespace terrace::observe
