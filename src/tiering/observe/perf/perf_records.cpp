// SPDX-License-Identifier: Apache-2.0
// Decodes the records of perf rings, for the memory sampler and the function probes. See perf_records.hpp.
#include "observe/perf/perf_records.hpp"

#include <cstring>

namespace terrace::observe {

namespace {

// Newer than the oldest supported kernel headers.
constexpr std::uint32_t k_lost_samples = 13;         // PERF_RECORD_LOST_SAMPLES
constexpr std::uint64_t k_weights = 1ULL << 24U;     // PERF_SAMPLE_WEIGHT_STRUCT
constexpr std::uint64_t k_aux_collision = 1U << 3U;  // PERF_AUX_FLAG_COLLISION

// Reads the fields in order; each takes eight bytes.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::uint64_t next() noexcept {
    std::uint64_t value = 0;
    const auto field = take(sizeof value);
    if (!field.empty()) std::memcpy(&value, field.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(std::uint64_t size) noexcept {
    if (size > bytes_.size()) {
      short_ = true;
      bytes_ = {};
      return {};
    }
    const auto taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(size));
    return taken;
  }
  [[nodiscard]] bool is_complete() const noexcept { return !short_; }

 private:
  std::span<const std::byte> bytes_;
  bool short_ = false;
};

std::uint32_t low_half(std::uint64_t word) {
  std::uint32_t halves[2];
  std::memcpy(halves, &word, sizeof halves);
  return halves[0];
}

std::uint32_t high_half(std::uint64_t word) {
  std::uint32_t halves[2];
  std::memcpy(halves, &word, sizeof halves);
  return halves[1];
}

}  // namespace

std::optional<SampleFields> read_sample(std::span<const std::byte> body, std::uint64_t sample_type) noexcept {
  if ((sample_type & ~k_readable_fields) != 0) return std::nullopt;
  const auto requested = [&](std::uint64_t field) { return (sample_type & field) != 0; };
  FieldReader fields(body);
  SampleFields sample;
  if (requested(PERF_SAMPLE_IDENTIFIER)) fields.next();
  if (requested(PERF_SAMPLE_IP)) sample.ip = fields.next();
  if (requested(PERF_SAMPLE_TID)) {
    const auto both = fields.next();
    sample.pid = low_half(both);
    sample.tid = high_half(both);
  }
  if (requested(PERF_SAMPLE_TIME)) sample.time_ns = fields.next();
  if (requested(PERF_SAMPLE_ADDR)) sample.address = fields.next();
  if (requested(PERF_SAMPLE_ID)) fields.next();
  if (requested(PERF_SAMPLE_STREAM_ID)) fields.next();
  if (requested(PERF_SAMPLE_CPU)) fields.next();
  if (requested(PERF_SAMPLE_PERIOD)) sample.period = fields.next();
  if (requested(PERF_SAMPLE_CALLCHAIN)) {
    const auto frames = fields.next();
    if (frames > body.size() / sizeof(std::uint64_t)) return std::nullopt;
    fields.take(frames * sizeof(std::uint64_t));
  }
  if (requested(PERF_SAMPLE_RAW)) {
    std::uint32_t size = 0;
    const auto field = fields.take(sizeof size);
    if (field.empty()) return std::nullopt;
    std::memcpy(&size, field.data(), sizeof size);
    sample.raw = fields.take(size);
    // Size and bytes are padded to whole words; the kernel includes the padding in the size, other writers need
    // not.
    if (const auto over = (sizeof size + size) % 8; over != 0) fields.take(8 - over);
  }
  if (requested(PERF_SAMPLE_WEIGHT | k_weights)) {
    const auto weight = fields.next();
    sample.weight = requested(k_weights) ? low_half(weight) : weight;
  }
  if (requested(PERF_SAMPLE_DATA_SRC)) sample.data_source = fields.next();
  if (requested(PERF_SAMPLE_TRANSACTION)) fields.next();
  if (requested(PERF_SAMPLE_PHYS_ADDR)) fields.next();
  if (!fields.is_complete()) return std::nullopt;
  return sample;
}

std::uint64_t lost_samples(const PerfRecord& record) noexcept {
  FieldReader fields(record.body);
  if (record.type == PERF_RECORD_LOST) fields.next();  // the event's id: the ring has one event
  if (record.type != PERF_RECORD_LOST && record.type != k_lost_samples) return 0;
  return fields.next();
}

std::optional<AuxRecord> read_aux_record(const PerfRecord& record, std::uint64_t sample_type) noexcept {
  if (record.type != PERF_RECORD_AUX || (sample_type & ~k_readable_fields) != 0) return std::nullopt;
  const auto requested = [&](std::uint64_t field) { return (sample_type & field) != 0; };
  FieldReader fields(record.body);
  AuxRecord aux;
  aux.offset = fields.next();
  aux.size = fields.next();
  const auto flags = fields.next();
  aux.truncated = (flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)) != 0;
  aux.collided = (flags & k_aux_collision) != 0;
  if (!fields.is_complete()) return std::nullopt;
  if (requested(PERF_SAMPLE_TID)) {
    const auto both = fields.next();
    aux.pid = low_half(both);
    aux.tid = high_half(both);
  }
  if (requested(PERF_SAMPLE_TIME)) aux.time_ns = fields.next();
  return aux;
}

}  // namespace terrace::observe
