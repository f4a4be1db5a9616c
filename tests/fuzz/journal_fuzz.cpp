// Fuzzes the journal's reader and the records' decoders: whatever the bytes, they return or throw terrace::Error,
// and read nothing outside of their input.
//
// The first byte chooses. Even: the rest is a journal as it stands, and mostly dies at its checksums. Odd: the
// rest is cut into records, which are given right checksums, so that the decoders are reached.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/blob.hpp"
#include "core/error.hpp"
#include "core/journal.hpp"
#include "machine/machine.hpp"
#include "profile/records.hpp"

namespace {

using terrace::BlobReader;
using terrace::BlobWriter;
using namespace terrace::profile;

void put(std::vector<std::byte>& out, const void* bytes, std::size_t size) {
  const auto* p = static_cast<const std::byte*>(bytes);
  out.insert(out.end(), p, p + size);
}

std::vector<std::byte> with_checksums(std::span<const std::byte> input) {
  std::vector<std::byte> file;
  const std::uint32_t numbers[2] = {terrace::k_journal_version, 1};
  put(file, "TERRACEJ", 8);
  put(file, numbers, sizeof numbers);
  file.resize(60);
  const auto header = terrace::crc32c(file);
  put(file, &header, sizeof header);
  while (input.size() >= 3) {
    const auto type = std::to_integer<std::uint16_t>(input[0]);
    std::uint16_t size = 0;
    std::memcpy(&size, input.data() + 1, sizeof size);
    const auto payload = input.subspan(3, std::min<std::size_t>(size, input.size() - 3));
    input = input.subspan(3 + payload.size());
    const auto length = static_cast<std::uint32_t>(16 + payload.size());
    const std::size_t head = file.size();
    put(file, &length, sizeof length);
    put(file, &type, sizeof type);
    file.resize(head + 8);
    const auto crc = terrace::crc32c(payload, terrace::crc32c(std::span(file).subspan(head, 8)));
    put(file, &crc, sizeof crc);
    file.resize(head + 16);
    put(file, payload.data(), payload.size());
    file.resize((file.size() + 7) & ~std::size_t{7});
  }
  return file;
}

// Checks that a decoded record encodes, and decodes to the same again.
template <class Record>
void check(std::span<const std::byte> payload) {
  BlobReader in(payload);
  Record record;
  decode(in, record);
  BlobWriter first;
  encode(first, record);
  BlobReader again(first.bytes());
  Record copy;
  decode(again, copy);
  BlobWriter second;
  encode(second, copy);
  if (!std::ranges::equal(first.bytes(), second.bytes())) __builtin_trap();
}

void check_record(const terrace::JournalRecord& record) {
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::run:
      return check<RunRecord>(record.payload);
    case RecordType::object:
      return check<ObjectRecord>(record.payload);
    case RecordType::object_end:
      return check<ObjectEndRecord>(record.payload);
    case RecordType::loop:
      return check<LoopRecord>(record.payload);
    case RecordType::loop_end:
      return check<LoopEndRecord>(record.payload);
    case RecordType::phase:
      return check<PhaseRecord>(record.payload);
    case RecordType::core_time:
      return check<CoreTimeRecord>(record.payload);
    case RecordType::iteration:
      return check<IterationRecord>(record.payload);
    case RecordType::moves:
      return check<MovesRecord>(record.payload);
    case RecordType::transfers:
      return check<TransfersRecord>(record.payload);
    case RecordType::plan:
      return check<PlanRecord>(record.payload);
    case RecordType::note:
      return check<NoteRecord>(record.payload);
    case RecordType::counters:
      return check<CountersRecord>(record.payload);
    case RecordType::loops:
      return check<LoopsRecord>(record.payload);
    case RecordType::mpi:
      return check<MpiRecord>(record.payload);
    case RecordType::levels:
      return check<LevelsRecord>(record.payload);
    case RecordType::proof:
      return check<ProofRecord>(record.payload);
    case RecordType::spill:
      return check<SpillRecord>(record.payload);
    case RecordType::coverage:
      return check<CoverageRecord>(record.payload);
    case RecordType::end:
      return check<EndRecord>(record.payload);
    case RecordType::calibration:
      return check<CalibrationRecord>(record.payload);
    case RecordType::machine: {
      BlobReader in(record.payload);
      terrace::machine::Machine::from_blob(in);
      return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const auto repaired = (data[0] & 1) != 0 ? with_checksums(input) : std::vector<std::byte>();
  try {
    terrace::read_journal((data[0] & 1) != 0 ? std::span<const std::byte>(repaired) : input,
                          [](const terrace::JournalRecord& record) {
                            try {
                              check_record(record);
                            } catch (const terrace::Error&) {
                            }
                          });
  } catch (const terrace::Error&) {
  }
  return 0;
}
