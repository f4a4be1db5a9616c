// See perf_records.hpp.
#include "observe/perf/perf_records.hpp"

#include <cstring>

namespace terrace::observe {

namespace {

// Later than the oldest headers that we are built with.
constexpr std::uint32_t k_lost_samples = 13;         // PERF_RECORD_LOST_SAMPLES
constexpr std::uint64_t k_weights = 1ULL << 24U;     // PERF_SAMPLE_WEIGHT_STRUCT
constexpr std::uint64_t k_aux_collision = 1U << 3U;  // PERF_AUX_FLAG_COLLISION

// The fields in their order, each eight bytes long.
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
  [[nodiscard]] bool well() const noexcept { return !short_; }

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
  const auto asked = [&](std::uint64_t field) { return (sample_type & field) != 0; };
  FieldReader fields(body);
  SampleFields sample;
  if (asked(PERF_SAMPLE_IDENTIFIER)) fields.next();
  if (asked(PERF_SAMPLE_IP)) sample.ip = fields.next();
  if (asked(PERF_SAMPLE_TID)) {
    const auto both = fields.next();
    sample.pid = low_half(both);
    sample.tid = high_half(both);
  }
  if (asked(PERF_SAMPLE_TIME)) sample.time_ns = fields.next();
  if (asked(PERF_SAMPLE_ADDR)) sample.address = fields.next();
  if (asked(PERF_SAMPLE_ID)) fields.next();
  if (asked(PERF_SAMPLE_STREAM_ID)) fields.next();
  if (asked(PERF_SAMPLE_CPU)) fields.next();
  if (asked(PERF_SAMPLE_PERIOD)) sample.period = fields.next();
  if (asked(PERF_SAMPLE_CALLCHAIN)) {
    const auto frames = fields.next();
    if (frames > body.size() / sizeof(std::uint64_t)) return std::nullopt;
    fields.take(frames * sizeof(std::uint64_t));
  }
  if (asked(PERF_SAMPLE_RAW)) {
    std::uint32_t size = 0;
    const auto field = fields.take(sizeof size);
    if (field.empty()) return std::nullopt;
    std::memcpy(&size, field.data(), sizeof size);
    sample.raw = fields.take(size);
    // Size and bytes together are whole words; the kernel counts the filling in the size, others need not.
    if (const auto over = (sizeof size + size) % 8; over != 0) fields.take(8 - over);
  }
  if (asked(PERF_SAMPLE_WEIGHT | k_weights)) {
    const auto weight = fields.next();
    sample.weight = asked(k_weights) ? low_half(weight) : weight;
  }
  if (asked(PERF_SAMPLE_DATA_SRC)) sample.data_source = fields.next();
  if (asked(PERF_SAMPLE_TRANSACTION)) fields.next();
  if (asked(PERF_SAMPLE_PHYS_ADDR)) fields.next();
  if (!fields.well()) return std::nullopt;
  return sample;
}

std::uint64_t lost_samples(const PerfRecord& record) noexcept {
  FieldReader fields(record.body);
  if (record.type == PERF_RECORD_LOST) fields.next();  // which event's: the ring has one
  if (record.type != PERF_RECORD_LOST && record.type != k_lost_samples) return 0;
  return fields.next();
}

std::optional<BesideRecord> read_beside(const PerfRecord& record, std::uint64_t sample_type) noexcept {
  if (record.type != PERF_RECORD_AUX || (sample_type & ~k_readable_fields) != 0) return std::nullopt;
  const auto asked = [&](std::uint64_t field) { return (sample_type & field) != 0; };
  FieldReader fields(record.body);
  BesideRecord beside;
  beside.offset = fields.next();
  beside.size = fields.next();
  const auto flags = fields.next();
  beside.truncated = (flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)) != 0;
  beside.collided = (flags & k_aux_collision) != 0;
  if (!fields.well()) return std::nullopt;
  if (asked(PERF_SAMPLE_TID)) {
    const auto both = fields.next();
    beside.pid = low_half(both);
    beside.tid = high_half(both);
  }
  if (asked(PERF_SAMPLE_TIME)) beside.time_ns = fields.next();
  return beside;
}

}  // namespace terrace::observe
