// Builds records, rings and packets in the kernel's and the processors' published formats (perf_event_open(2),
// AMD's and Arm's manuals), independently of the decoders.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace perf_builder {

using Bytes = std::vector<unsigned char>;

inline void append(Bytes& bytes, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) bytes.push_back(static_cast<unsigned char>(value >> (8 * i)));
}

inline Bytes record(std::uint32_t type, std::uint16_t misc, const Bytes& body) {
  Bytes bytes;
  append(bytes, type, 4);
  append(bytes, misc, 2);
  append(bytes, body.size() + 8, 2);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

struct Sample {
  std::uint64_t identifier = 0x1d, ip = 0, time = 0, address = 0, id = 0x1d, stream = 0x57, cpu = 0, period = 0;
  std::uint32_t pid = 0, tid = 0;
  std::vector<std::uint64_t> callers;
  Bytes raw;
  std::uint64_t weight = 0, source = 0, transaction = 0x7a, physical = 0x9;
};

// Writes the fields that `type` requests, in the order of the manual.
inline Bytes sample(const Sample& s, std::uint64_t type, std::uint16_t misc = PERF_RECORD_MISC_USER) {
  Bytes body;
  if (type & PERF_SAMPLE_IDENTIFIER) append(body, s.identifier, 8);
  if (type & PERF_SAMPLE_IP) append(body, s.ip, 8);
  if (type & PERF_SAMPLE_TID) {
    append(body, s.pid, 4);
    append(body, s.tid, 4);
  }
  if (type & PERF_SAMPLE_TIME) append(body, s.time, 8);
  if (type & PERF_SAMPLE_ADDR) append(body, s.address, 8);
  if (type & PERF_SAMPLE_ID) append(body, s.id, 8);
  if (type & PERF_SAMPLE_STREAM_ID) append(body, s.stream, 8);
  if (type & PERF_SAMPLE_CPU) append(body, s.cpu, 8);
  if (type & PERF_SAMPLE_PERIOD) append(body, s.period, 8);
  if (type & PERF_SAMPLE_CALLCHAIN) {
    append(body, s.callers.size(), 8);
    for (const auto caller : s.callers) append(body, caller, 8);
  }
  if (type & PERF_SAMPLE_RAW) {
    // As in the kernel, the size includes the padding to whole words.
    auto raw = s.raw;
    while ((raw.size() + 4) % 8 != 0) raw.push_back(0);
    append(body, raw.size(), 4);
    body.insert(body.end(), raw.begin(), raw.end());
  }
  if (type & (PERF_SAMPLE_WEIGHT | 1ULL << 24)) append(body, s.weight, 8);
  if (type & PERF_SAMPLE_DATA_SRC) append(body, s.source, 8);
  if (type & PERF_SAMPLE_TRANSACTION) append(body, s.transaction, 8);
  if (type & PERF_SAMPLE_PHYS_ADDR) append(body, s.physical, 8);
  return record(PERF_RECORD_SAMPLE, misc, body);
}

// The kernel's side of a ring: writes records, and refuses those that do not fit.
class Ring {
 public:
  explicit Ring(std::size_t size, std::size_t beside = 0, std::uint64_t start = 0)
      : page_(std::make_unique<perf_event_mmap_page>()), data_(size), beside_(beside) {
    std::memset(page_.get(), 0, sizeof *page_);
    page_->data_head = page_->data_tail = start;
  }
  bool write(const Bytes& bytes) {
    if (page_->data_head - page_->data_tail + bytes.size() > data_.size()) return false;
    for (const auto byte : bytes) data_[page_->data_head++ % data_.size()] = static_cast<std::byte>(byte);
    return true;
  }
  // Writes to the AUX buffer, and the AUX record for it.
  void write_beside(const Bytes& bytes, std::uint64_t flags, std::uint32_t pid, std::uint32_t tid,
                    std::uint64_t time) {
    const auto offset = page_->aux_head;
    for (const auto byte : bytes) beside_[page_->aux_head++ % beside_.size()] = static_cast<std::byte>(byte);
    Bytes body;
    append(body, offset, 8);
    append(body, bytes.size(), 8);
    append(body, flags, 8);
    append(body, pid, 4);
    append(body, tid, 4);
    append(body, time, 8);
    write(record(PERF_RECORD_AUX, 0, body));
  }
  perf_event_mmap_page& page() { return *page_; }
  std::span<std::byte> data() { return data_; }
  std::span<std::byte> beside() { return beside_; }

 private:
  std::unique_ptr<perf_event_mmap_page> page_;
  std::vector<std::byte> data_, beside_;
};

// AMD: capabilities, then C001_1033 (control), 34 (instruction), 35 to 37 (data 1 to 3), 38 (linear), 39
// (physical).
struct IbsOp {
  std::uint32_t capabilities = 0x81f;
  std::uint64_t source = 0;  // of data 2: bits 0 to 2, 6 and 7; bit 4 says another node
  bool remote = false;
  bool load = false, store = false, first_tlb_miss = false, second_tlb_miss = false, cache_miss = false,
       uncached = false, no_buffer = false, address_valid = true, second_cache_miss = false, prefetch = false;
  std::uint64_t latency = 0, address = 0;
};

inline Bytes ibs(const IbsOp& op) {
  Bytes raw;
  append(raw, op.capabilities, 4);
  append(raw, 0x0000'0000'0006'0000, 8);
  append(raw, 0x401000, 8);
  append(raw, 0x12345, 8);
  append(raw, (op.source & 7) | (op.source >> 3 & 3) << 6 | (op.remote ? 16U : 0U), 8);
  const auto at = [](bool set, unsigned number) { return static_cast<std::uint64_t>(set) << number; };
  append(raw,
         at(op.load, 0) | at(op.store, 1) | at(op.first_tlb_miss, 2) | at(op.second_tlb_miss, 3) |
             at(op.cache_miss, 7) | at(op.uncached, 14) | at(op.no_buffer, 16) | at(op.address_valid, 17) |
             at(true, 18) | at(op.second_cache_miss, 20) | at(op.prefetch, 21) | 4ULL << 22 | op.latency << 32,
         8);
  append(raw, op.address, 8);
  append(raw, 0x1'2345'6780, 8);
  return raw;
}

// Arm: packets by the tables of the manual.
namespace spe {

inline void pad(Bytes& b, unsigned count = 1) { b.insert(b.end(), count, 0x00); }
inline void end(Bytes& b) { b.push_back(0x01); }
inline void timestamp(Bytes& b, std::uint64_t ticks) {
  b.push_back(0x71);
  append(b, ticks, 8);
}
inline void address(Bytes& b, unsigned index, std::uint64_t value) {
  b.push_back(static_cast<unsigned char>(0xb0 | index));
  append(b, value, 8);
}
inline void counter(Bytes& b, unsigned index, std::uint16_t value) {
  b.push_back(static_cast<unsigned char>(0x98 | index));
  append(b, value, 2);
}
// Writes the packet with the extended header, for indices from 8 on.
inline void long_counter(Bytes& b, unsigned index, std::uint16_t value) {
  b.push_back(static_cast<unsigned char>(0x20 | index >> 3));
  b.push_back(static_cast<unsigned char>(0x98 | (index & 7)));
  append(b, value, 2);
}
inline void events(Bytes& b, std::uint64_t value, unsigned size = 2) {
  b.push_back(static_cast<unsigned char>(0x42 | (size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3) << 4));
  append(b, value, size);
}
inline void source(Bytes& b, std::uint64_t value, unsigned size = 1) {
  b.push_back(static_cast<unsigned char>(0x43 | (size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3) << 4));
  append(b, value, size);
}
inline void context(Bytes& b, unsigned index, std::uint32_t value) {
  b.push_back(static_cast<unsigned char>(0x64 | index));
  append(b, value, 4);
}
inline void operation(Bytes& b, unsigned which, std::uint8_t subclass) {
  b.push_back(static_cast<unsigned char>(0x48 | which));
  b.push_back(subclass);
}
// Aligns to a multiple of 2^(shift + 1) bytes.
inline void align(Bytes& b, unsigned shift) {
  const std::size_t step = 2U << shift;
  const auto begin = b.size();
  b.push_back(static_cast<unsigned char>(0x20 | shift));
  b.push_back(0x00);
  const auto target = begin + (step - begin % step);
  while (b.size() < target) b.push_back(0x00);
}

}  // namespace spe

}  // namespace perf_builder
