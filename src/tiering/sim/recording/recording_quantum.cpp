// SPDX-License-Identifier: Apache-2.0
// Converts quanta (batches of one thread's accesses with their misses) to the columns of a recording and back, for
// RecordingWriter and for `terrace replay`. See recording_quantum.hpp.
#include "sim/recording/recording_quantum.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sim/recording/recording_format.hpp"

namespace terrace::sim {

using memory::k_no_chunk;
using observe::Miss;
using observe::MissKind;

namespace {

constexpr std::uint32_t k_max_misses = 1U << 20;  // of one quantum; a pipeline passes 32,768 at most
constexpr std::uint64_t k_max_lines = 64;         // of one access, which may be the last of a quantum
constexpr std::uint32_t k_narrow = 256;           // classes that a byte can distinguish
constexpr std::uint32_t k_wide_classes = 65536;
constexpr unsigned k_class_bits = 3;  // the kind of miss, and whether the misses have weights
constexpr std::uint8_t k_weighed = 4;

// Neighbours in the list are mostly neighbours in memory. k_no_chunk is encoded right before chunk 0.
std::uint32_t chunk_step(ChunkId from, ChunkId to) { return to - from; }

}  // namespace

// --- writing -----------------------------------------------------------------------------------------------

std::uint32_t& QuantumEncoder::slot_of(ChunkId chunk, std::uint8_t code) {
  const auto at = ((std::size_t{chunk + 1U}) << k_class_bits) | code;
  if (at >= slots_.size()) slots_.resize(at + at / 2 + 256, 0);
  return slots_[at];
}

std::uint32_t QuantumEncoder::class_of(const Miss& miss) {
  const auto code =
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(miss.kind) | (miss.weight > 0 ? k_weighed : 0));
  auto& slot = slot_of(miss.chunk, code);
  if (slot == 0) {
    classes_.push_back({miss.chunk, code});
    slot = static_cast<std::uint32_t>(classes_.size());
  }
  return slot - 1;
}

void QuantumEncoder::put(RecordingColumns& out, const observe::Quantum& quantum) {
  class_of_miss_.clear();
  weights_.clear();
  const auto lines_before = out.lines.size();
  for (const auto& miss : quantum.misses) {
    const auto number = class_of(miss);
    auto& of_class = classes_[number];
    class_of_miss_.push_back(static_cast<std::uint16_t>(number));
    ++of_class.count;
    if (miss.weight > 0) {
      of_class.weight += miss.weight;
      weights_.push_back(std::byte{miss.weight});
    }
    const auto step = static_cast<std::int16_t>(miss.line - of_class.next_line);
    put_number(out.lines, zigzag(step));
    of_class.next_line = static_cast<std::uint16_t>(miss.line + 1);
  }
  const bool wide = classes_.size() > k_narrow;
  auto& events = out.events;
  put_byte(events, static_cast<std::uint8_t>(EventTag::quantum));
  put_byte(events, static_cast<std::uint8_t>((quantum.in_stride ? k_in_stride : 0) | (wide ? k_wide : 0)));
  put_number(events, quantum.thread);
  put_number(events, quantum.accesses);
  put_number(events, quantum.instructions);
  for (const auto hits : quantum.hits) put_number(events, hits);
  put_number(events, quantum.walks);
  put_number(events, quantum.calls.size());
  std::uint32_t beyond = 0;  // the last function
  for (const auto& calls : quantum.calls) {
    put_number(events, calls.function - beyond);
    put_number(events, calls.count);
    beyond = calls.function + 1;
  }
  put_number(events, classes_.size());
  ChunkId last = 0;
  for (const auto& of_class : classes_) {
    put_number(events, zigzag(static_cast<std::int32_t>(chunk_step(last, of_class.chunk))));
    put_number(events, (std::uint64_t{of_class.count} << k_class_bits) | of_class.code);
    if ((of_class.code & k_weighed) != 0) put_number(events, of_class.weight);
    last = of_class.chunk;
  }
  put_number(events, out.lines.size() - lines_before);
  put_classes(out.classes, wide);
  for (const auto& of_class : classes_) slot_of(of_class.chunk, of_class.code) = 0;
  classes_.clear();
}

// Appends the class number of each miss of the quantum, then the weights.
void QuantumEncoder::put_classes(std::vector<std::byte>& out, bool wide) const {
  const auto at = out.size();
  if (wide) {
    out.resize(at + 2 * class_of_miss_.size());
    std::memcpy(out.data() + at, class_of_miss_.data(), 2 * class_of_miss_.size());
  } else {
    out.resize(at + class_of_miss_.size());
    std::transform(class_of_miss_.begin(), class_of_miss_.end(), out.begin() + static_cast<std::ptrdiff_t>(at),
                   [](std::uint16_t number) { return static_cast<std::byte>(number); });
  }
  out.insert(out.end(), weights_.begin(), weights_.end());
}

// --- reading -----------------------------------------------------------------------------------------------

QuantumDecoder::Sums QuantumDecoder::sums(ColumnReader& events, ChunkId chunks, observe::Tally& tally) {
  Sums sums;
  const auto flags = events.byte();
  sums.quantum.in_stride = (flags & k_in_stride) != 0;
  wide_ = (flags & k_wide) != 0;
  auto& quantum = sums.quantum;
  quantum.thread = static_cast<std::uint32_t>(events.number(k_max_recorded_threads));
  quantum.accesses = events.number(max_accesses_);
  quantum.instructions = events.number(k_max_instructions * max_accesses_);
  for (auto& hits : quantum.hits) hits = events.number(max_accesses_ + k_max_lines);
  // Page walks are counted among the hits beyond the first cache.
  quantum.walks = events.number(std::accumulate(quantum.hits.begin() + 1, quantum.hits.end(), std::uint64_t{0}));
  read_calls(events);
  quantum.calls = calls_;
  const auto classes = events.number(wide_ ? k_wide_classes : k_narrow);
  classes_.resize(classes);
  tally.clear();
  ChunkId chunk = 0;
  std::uint64_t weighed = 0;
  std::uint64_t misses = 0;
  for (auto& of_class : classes_) {
    chunk += static_cast<std::uint32_t>(events.signed_number());
    if (chunk >= chunks && chunk != k_no_chunk)
      throw Error(Code::corrupt, "the recording is damaged: it has a miss on a chunk that is not there");
    const auto counted = events.number(std::uint64_t{k_max_misses} << k_class_bits);
    const auto kind = static_cast<MissKind>(counted & (k_weighed - 1U));
    const auto count = static_cast<std::uint32_t>(counted >> k_class_bits);
    of_class = {{chunk, 0, 0, kind}, count, 0, 0, 0, 0, (counted & k_weighed) != 0};
    if (of_class.weighed) {
      of_class.weight = events.number(std::uint64_t{255} * count);
      weighed += count;
    }
    misses += count;
    tally.add(chunk, kind, count, of_class.weight);
  }
  if (misses > k_max_misses)
    throw Error(
        Code::corrupt,
        "the recording is damaged: it has a quantum (batch of one thread's accesses) with too many misses");
  count_ = sums.misses = static_cast<std::uint32_t>(misses);
  class_begin_ = class_end_;
  class_end_ += misses * (wide_ ? 2 : 1) + weighed;
  line_begin_ = line_end_;
  line_end_ += events.number(3 * misses);
  if (class_end_ > class_bytes_ || line_end_ > line_bytes_)
    throw Error(Code::corrupt, "the recording is damaged: its columns do not belong together");
  return sums;
}

// A list with more calls than end a quantum is rejected.
void QuantumDecoder::read_calls(ColumnReader& events) {
  calls_.resize(events.number(machine::k_library_functions));
  std::uint64_t beyond = 0;
  auto left = max_accesses_ / observe::k_accesses_per_call + 1;
  for (auto& calls : calls_) {
    const auto function = beyond + events.number(machine::k_library_functions);
    if (function >= machine::k_library_functions)
      throw Error(Code::corrupt,
                  "the recording has a call of a function that this version of terrace does not know");
    const auto count = events.number(left);
    calls = {static_cast<std::uint32_t>(function), static_cast<std::uint32_t>(count)};
    left -= count;
    beyond = function + 1;
  }
}

std::span<const Miss> QuantumDecoder::misses(std::span<const std::byte> classes,
                                             std::span<const std::byte> lines) {
  if (class_end_ > classes.size() || line_end_ > lines.size())
    throw Error(Code::corrupt, "the recording is damaged: its columns do not belong together");
  class_of_miss_.resize(count_);
  misses_.resize(count_);
  const auto of_quantum = classes.subspan(class_begin_, class_end_ - class_begin_);
  const auto numbers = of_quantum.first(std::size_t{count_} * (wide_ ? 2 : 1));
  if (wide_)
    put_classes<std::uint16_t>(numbers);
  else
    put_classes<std::uint8_t>(numbers);
  put_weights(ColumnReader(of_quantum.subspan(numbers.size())));
  put_lines(ColumnReader(lines.subspan(line_begin_, line_end_ - line_begin_)));
  return misses_;
}

template <class Number>
void QuantumDecoder::put_classes(std::span<const std::byte> numbers) {
  for (std::uint32_t i = 0; i < count_; ++i) {
    Number number{};
    std::memcpy(&number, numbers.data() + std::size_t{i} * sizeof number, sizeof number);
    if (number >= classes_.size())
      throw Error(Code::corrupt, "the recording is damaged: it has a miss of no class");
    auto& of_class = classes_[number];
    class_of_miss_[i] = number;
    misses_[i] = of_class.first;
    ++of_class.seen;
  }
  // Otherwise profiles would contain misses that the time does not account for.
  for (const auto& of_class : classes_)
    if (of_class.seen != of_class.count)
      throw Error(Code::corrupt, "the recording is damaged: its misses and their sums differ");
}

void QuantumDecoder::put_weights(ColumnReader weights) {
  if (weights.at_end()) return;
  for (std::uint32_t i = 0; i < count_; ++i) {
    auto& of_class = classes_[class_of_miss_[i]];
    if (!of_class.weighed) continue;
    misses_[i].weight = weights.byte();
    of_class.weight_seen += misses_[i].weight;
  }
  for (const auto& of_class : classes_)
    if (of_class.weight_seen != of_class.weight)
      throw Error(Code::corrupt, "the recording is damaged: its weights and their sums differ");
}

void QuantumDecoder::put_lines(ColumnReader lines) {
  for (std::uint32_t i = 0; i < count_; ++i) {
    auto& next = classes_[class_of_miss_[i]].next_line;
    misses_[i].line = static_cast<std::uint16_t>(next + lines.signed_number());
    next = static_cast<std::uint16_t>(misses_[i].line + 1);
  }
  if (!lines.at_end()) throw Error(Code::corrupt, "the recording is damaged: it has lines of no miss");
}

}  // namespace terrace::sim
