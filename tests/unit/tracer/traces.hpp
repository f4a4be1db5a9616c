// Traces in memory for tests: made of records, read back into records.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tracer/trace_reader.hpp"
#include "tracer/trace_writer.hpp"

namespace terrace::tracer::test {

using Bytes = std::vector<std::byte>;

// A record that keeps its text.
struct KeptRecord {
  TraceKind kind = TraceKind::access;
  bool flag = false;
  std::uint32_t thread = 0;
  std::uint64_t address = 0, size = 0, pc = 0;
  std::string text;
  bool operator==(const KeptRecord&) const = default;
};

inline KeptRecord keep(const TraceRecord& record) {
  return {record.kind, record.flag, record.thread,           record.address,
          record.size, record.pc,   std::string(record.text)};
}

// Writes records as a tracer would: one site for each instruction, size and direction.
class RecordWriter {
 public:
  explicit RecordWriter(const TraceHeader& header)
      : writer_(header, [this](std::span<const std::byte> bytes) {
          file_.insert(file_.end(), bytes.begin(), bytes.end());
          return true;
        }) {}
  void put(const KeptRecord& record) {
    if (record.kind == TraceKind::access) {
      TraceSite& site = sites_[{record.pc, record.size, record.flag}];
      site.pc = record.pc;
      site.size = static_cast<std::uint32_t>(record.size);
      site.store = record.flag;
      writer_.access(site, record.thread, record.address);
      return;
    }
    TraceRecord plain;
    plain.kind = record.kind;
    plain.flag = record.flag;
    plain.thread = record.thread;
    plain.address = record.address;
    plain.size = record.size;
    plain.pc = record.pc;
    plain.text = record.text;
    writer_.put(plain);
  }
  void flush() { writer_.flush(); }
  Bytes take() {
    writer_.flush();
    return file_;
  }

 private:
  Bytes file_;
  TraceWriter writer_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, bool>, TraceSite> sites_;
};

// `step` bytes at a time: a file need not come in the pieces that the reader asks for.
inline TraceReader reader_of(std::span<const std::byte> file, std::size_t step = ~std::size_t{0}) {
  auto at = std::make_shared<std::size_t>(0);
  return TraceReader([file, at, step](std::span<std::byte> into) {
    const auto n = std::min({into.size(), step, file.size() - *at});
    if (n > 0) std::memcpy(into.data(), file.data() + *at, n);
    *at += n;
    return n;
  });
}

struct ReadBack {
  std::vector<KeptRecord> records;
  TraceEnding ending;
};

inline ReadBack read_back(TraceReader reader) {
  ReadBack result;
  TraceRecord record;
  while (reader.next(record)) result.records.push_back(keep(record));
  result.ending = reader.ending();
  return result;
}

}  // namespace terrace::tracer::test
