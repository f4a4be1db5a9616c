// Fuzzes the reader of traces and what counts their misses: whatever the bytes, they return or throw
// terrace::Error, and read nothing outside of their input.
//
// The first byte chooses. Even: the rest is a trace as it stands, and mostly dies at its checksums. Odd: the rest
// is cut into frames, which are compressed as they should be behind a good header, so that the records are
// reached.
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "tracer/trace_misses.hpp"
#include "tracer/trace_reader.hpp"
#include "tracer/trace_writer.hpp"

namespace {

using namespace terrace::tracer;

void add_frame(std::vector<std::byte>& file, std::uint64_t number, std::span<const std::byte> records) {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  static const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::vector<std::byte> payload{static_cast<std::byte>(number & 0x7f)};
  payload.insert(payload.end(), records.begin(), records.end());
  const auto at = file.size();
  file.resize(at + ZSTD_compressBound(payload.size()));
  file.resize(at +
              ZSTD_compress2(context.get(), file.data() + at, file.size() - at, payload.data(), payload.size()));
}

std::vector<std::byte> with_frames(std::span<const std::byte> input) {
  std::vector<std::byte> file;
  {
    const TraceHeader header{"x86_64", "/nowhere", {"a"}, 4096, 0x1000, 0x2000};
    TraceWriter writer(header, [&](std::span<const std::byte> bytes) {
      file.insert(file.end(), bytes.begin(), bytes.end());
      return true;
    });
  }
  for (std::uint64_t frame = 1; input.size() >= 2 && frame < 100; ++frame) {
    std::uint16_t size = 0;
    std::memcpy(&size, input.data(), sizeof size);
    const auto records = input.subspan(2, std::min<std::size_t>(size, input.size() - 2));
    input = input.subspan(2 + records.size());
    add_frame(file, frame, records);
  }
  return file;
}

TraceReader reader_of(std::span<const std::byte> file) {
  auto at = std::make_shared<std::size_t>(0);
  return TraceReader([file, at](std::span<std::byte> into) {
    const auto n = std::min(into.size(), file.size() - *at);
    if (n > 0) std::memcpy(into.data(), file.data() + *at, n);
    *at += n;
    return n;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const auto repaired = (data[0] & 1) != 0 ? with_frames(input) : std::vector<std::byte>();
  const auto file = (data[0] & 1) != 0 ? std::span<const std::byte>(repaired) : input;
  TraceMissesOptions options;
  options.caches.caches = {{"l1", terrace::Bytes{1024}, 2, false, {}}, {"l2", terrace::Bytes{4096}, 4, true, {}}};
  try {
    auto reader = reader_of(file);
    const auto misses = find_misses(reader, options);
    std::uint64_t by_object = 0;
    std::uint64_t by_place = 0;
    for (const auto& object : misses.objects)
      for (const auto lines : object.lines) by_object += lines;
    for (const auto& place : misses.places) by_place += place.lines;
    if (by_object != by_place || misses.ending.whole != misses.ending.reason.empty()) __builtin_trap();
  } catch (const terrace::Error&) {
  }
  return 0;
}
