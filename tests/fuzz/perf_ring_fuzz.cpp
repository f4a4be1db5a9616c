// Fuzzes the perf ring reader: for any content, reading ends, stays in bounds and frees the ring, and samples
// contain only the ring's bytes. tests/fuzz/CMakeLists.txt says how to run it.
#include <linux/perf_event.h>

#include <cstring>
#include <memory>
#include <vector>

#include "observe/perf/memory_sample.hpp"
#include "observe/perf/perf_records.hpp"
#include "observe/perf/perf_ring.hpp"

namespace {

using namespace terrace::observe;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace

// The first eight bytes say which fields were asked for, the next four where the ring's counters stand.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 12) return 0;
  std::uint64_t type = 0;
  std::uint16_t tail = 0, written = 0;
  std::memcpy(&type, data, sizeof type);
  std::memcpy(&tail, data + 8, sizeof tail);
  std::memcpy(&written, data + 10, sizeof written);
  type &= k_readable_fields;
  const std::span input(data + 12, size - 12);
  std::vector<std::byte> ring(4096), longest(PerfRing::k_max_record);
  for (std::size_t i = 0; i < input.size() && i < ring.size(); ++i)
    ring[(tail + i) % ring.size()] = static_cast<std::byte>(input[i]);
  const auto page = std::make_unique<perf_event_mmap_page>();
  std::memset(page.get(), 0, sizeof *page);
  page->data_tail = tail;
  page->data_head = std::uint64_t{tail} + written;
  PerfRing reader(page.get(), ring);
  std::size_t bytes = 0;
  reader.read(std::span<std::byte, PerfRing::k_max_record>(longest), [&](const PerfRecord& record) {
    bytes += 8 + record.body.size();
    static_cast<void>(lost_samples(record));
    static_cast<void>(read_aux_record(record, type));
    if (const auto sample = read_sample(record.body, type)) {
      require(sample->raw.size() <= record.body.size());
      MemorySample access;
      if (read_ibs_op(sample->raw, access)) require(access.is_load || access.is_store);
      if (read_data_source(sample->data_source, access)) require(access.is_load || access.is_store);
    }
  });
  require(page->data_tail == page->data_head);
  require(bytes <= written && (bytes == written || reader.malformed() == 1));
  return 0;
}
