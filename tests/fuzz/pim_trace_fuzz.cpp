// Fuzzes traces of allocations: any bytes either make a trace, which then comes back from its own text and can be
// replayed without losing a unit, or are refused with an Error of one line that names file and line.
// tests/fuzz/CMakeLists.txt says how to run it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "pim/trace/fragmentation.hpp"
#include "pim/trace/replay.hpp"

namespace {

using namespace terrace::pim;

constexpr std::uint64_t k_max_units = 1 << 14;  // a larger device takes long, and teaches nothing

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void check_replay(const Trace& trace, const std::string& written) {
  Allocator allocator(trace.geometry);
  const auto summary = replay(trace, allocator);
  const auto units = trace.geometry.units();
  require(allocator.free_units() == units - summary.in_use(), "units get lost in a replay", written);
  require(fragmentation_of(allocator.snapshot()).free == allocator.free_units(), "the boards say otherwise",
          written);
  for (const auto& [id, live] : summary.live) allocator.release(live.handle);
  require(allocator.free_units() == units, "units do not come back", written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto trace = parse_trace(text, "fuzz");
    const auto written = format_trace(trace);
    try {
      require(format_trace(parse_trace(written, "again")) == written, "a trace changes when it is read back",
              written);
      if (trace.geometry.units() <= k_max_units) check_replay(trace, written);
    } catch (const terrace::Error& error) {
      require(false, error.what(), written);
    }
  } catch (const terrace::Error& error) {
    const std::string complaint = error.what();
    require(error.code() == terrace::Code::invalid, "a complaint with another code", complaint);
    require(complaint.starts_with("fuzz:") && complaint.find('\n') == std::string::npos,
            "a complaint that is not one line with file and line", complaint);
  }
  return 0;
}
