// SPDX-License-Identifier: Apache-2.0
// Decodes the packets of Arm's SPE, for the memory sampler. See spe_packets.hpp.
#include "observe/perf/spe_packets.hpp"

#include <algorithm>
#include <cstring>

namespace terrace::observe {

namespace {

// One-byte headers; `x` in the manual's tables is a size, an index or a class.
constexpr unsigned k_spe_padding = 0x00, k_spe_end = 0x01, k_spe_timestamp = 0x71;
constexpr bool is_events(unsigned header) { return (header & 0xcf) == 0x42; }
constexpr bool is_source(unsigned header) { return (header & 0xcf) == 0x43; }
constexpr bool is_context(unsigned header) { return (header & 0xfc) == 0x64; }
constexpr bool is_operation(unsigned header) { return (header & 0xfc) == 0x48; }
constexpr bool is_extended(unsigned header) { return (header & 0xfc) == 0x20; }
constexpr bool is_address(unsigned header) { return (header & 0xf8) == 0xb0; }
constexpr bool is_counter(unsigned header) { return (header & 0xf8) == 0x98; }

constexpr unsigned k_of_instruction = 0, k_of_data = 2;  // addresses
constexpr unsigned k_total_latency = 0;                  // counters
constexpr unsigned k_of_memory = 1;                      // the class of operations that are accesses

constexpr std::uint64_t k_address_bits = (1ULL << 56U) - 1;  // the upper bits are a tag, or the exception level

// Sign-extends the address from bit 55, as the architecture requires.
std::uint64_t spe_address(std::uint64_t value) {
  const auto low = value & k_address_bits;
  return (low >> 55U & 1) != 0 ? low | ~k_address_bits : low;
}

}  // namespace

void SpeDecoder::reset_access() noexcept {
  access_ = {};
  ended_ = is_resyncing_ = has_source_ = false;
}

void SpeDecoder::reset() noexcept {
  partial_size_ = skip_bytes_ = 0;
  reset_access();
}

std::size_t SpeDecoder::skip(std::size_t available) noexcept {
  const auto now = std::min(skip_bytes_, available);
  skip_bytes_ -= now;
  return now;
}

void SpeDecoder::save_partial(std::span<const std::byte> bytes) noexcept {
  // Invariant: an incomplete packet is shorter than k_max_packet.
  const auto room = std::size(partial_) - partial_size_;
  const auto count = std::min(room, bytes.size());
  if (count != 0) std::memcpy(partial_ + partial_size_, bytes.data(), count);
  partial_size_ += count;
}

// Returns the number of bytes that the next packet takes of these, after a saved partial packet; 0 where it needs
// more.
std::size_t SpeDecoder::next_packet(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  if (partial_size_ == 0) return parse_packet(bytes, offset);
  const auto kept = partial_size_;
  std::byte joined[2 * k_max_packet];
  std::memcpy(joined, partial_, kept);
  const auto more = std::min(bytes.size(), k_max_packet);
  std::memcpy(joined + kept, bytes.data(), more);
  const auto used = parse_packet({joined, kept + more}, offset - kept);
  if (used == 0) return 0;
  partial_size_ = 0;
  return std::max<std::size_t>(used, kept + 1) - kept;
}

// Parses the packet at the begin of these bytes. Returns its size; 0 where bytes are missing.
std::size_t SpeDecoder::parse_packet(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  auto header = at(0);
  std::size_t size = 1;
  unsigned index = header & 7;
  if (header == k_spe_padding) return 1;
  if (header == k_spe_end) {
    ended_ = true;
    return 1;
  }
  if (is_extended(header)) {
    if (bytes.size() < 2) return 0;
    if (at(1) == 0) {
      // Alignment packet: padding up to the next multiple of 2, 4, 8 or 16 bytes.
      const std::uint64_t step = 2ULL << (header & 3);
      skip_bytes_ = static_cast<std::size_t>(step - offset % step);
      skip_bytes_ -= std::min<std::size_t>(skip_bytes_, 2);
      return 2;
    }
    index = (header & 3) << 3U | (at(1) & 7);
    header = at(1);
    size = 2;
  }
  const bool known = header == k_spe_timestamp || is_events(header) || is_source(header) || is_context(header) ||
                     is_operation(header) || is_address(header) || is_counter(header);
  if (!known) {
    ++malformed_;
    is_resyncing_ = true;
    return 1;
  }
  const std::size_t length = 1ULL << (header >> 4U & 3);
  if (bytes.size() < size + length) return 0;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < length; ++i) value |= static_cast<std::uint64_t>(at(size + i)) << 8 * i;
  payload(header, index, value);
  return size + length;
}

// Adds the content of one packet to the access.
void SpeDecoder::payload(unsigned header, unsigned index, std::uint64_t value) noexcept {
  auto& sample = access_.sample;
  if (header == k_spe_timestamp) {
    access_.timestamp = value;
    ended_ = true;
    // After bytes that are no packet the access is unreliable: drop it.
    if (is_resyncing_) access_.has_address = false;
  } else if (is_events(header)) {
    events(value);
  } else if (is_source(header)) {
    source(value);
  } else if (is_context(header)) {
    sample.tid = static_cast<std::uint32_t>(value);
    access_.has_thread = true;
  } else if (is_operation(header)) {
    if ((header & 3) != k_of_memory) return;
    // The lowest bit of general-purpose, SIMD and vector accesses is 1 for a store; atomics load and store.
    sample.is_store = (value & 1) != 0;
    sample.is_load = !sample.is_store;
    if ((value & 0xe2) == 0x02 && (value & 4) != 0) sample.is_load = sample.is_store = true;
  } else if (is_address(header)) {
    if (index == k_of_instruction) sample.ip = spe_address(value);
    if (index == k_of_data) {
      sample.address = spe_address(value);
      access_.has_address = true;
    }
  } else if (index == k_total_latency) {
    sample.latency_cycles = value;
  }
}

// Sets the memory level from the bits of an events packet, unless a source packet has set it.
void SpeDecoder::events(std::uint64_t value) noexcept {
  const auto has = [&](unsigned number) { return (value >> number & 1) != 0; };
  auto& sample = access_.sample;
  sample.tlb_miss = has(5);  // page-table walk
  if (has_source_) return;
  // 3: refilled the first cache; 8, 9: reached and missed the last one; 10: another socket.
  if (has(9)) {
    sample.level = has(10) ? MemoryLevel::remote_dram : MemoryLevel::local_dram;
  } else if (has(8)) {
    sample.level = has(10) ? MemoryLevel::remote_cache : MemoryLevel::l3;
  } else if (has(3)) {
    sample.level = has(10) ? MemoryLevel::remote_cache : MemoryLevel::unknown;
  } else if (has(2)) {
    sample.level = MemoryLevel::l1;
  }
}

// Sets the memory level from a data-source packet, if the processor's numbering is known.
void SpeDecoder::source(std::uint64_t value) noexcept {
  if (sources_ != SpeSources::neoverse) return;
  // Source: technical reference manuals of Neoverse N1, N2, V1 and V2.
  auto level = MemoryLevel::unknown;
  switch (value) {
    case 0x0:
      level = MemoryLevel::l1;
      break;
    case 0x8:
      level = MemoryLevel::l2;
      break;
    case 0x9:  // another core's
    case 0xa:  // of the cluster
    case 0xb:  // of the system
    case 0xc:  // of another cluster
      level = MemoryLevel::l3;
      break;
    case 0xd:
      level = MemoryLevel::remote_cache;
      break;
    case 0xe:
      level = MemoryLevel::local_dram;
      break;
    default:
      return;
  }
  // Only the event packet identifies memory of another socket.
  if (level == MemoryLevel::local_dram && access_.sample.level == MemoryLevel::remote_dram) return;
  access_.sample.level = level;
  has_source_ = true;
}

}  // namespace terrace::observe
