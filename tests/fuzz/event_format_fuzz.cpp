// Fuzzes what reads the kernel's descriptions of events: terms and formats are read, or refused with an Error of
// one kind; and what a format places is found there. tests/fuzz/CMakeLists.txt says how to run it.
#include <string_view>

#include "core/error.hpp"
#include "observe/perf/names/event_device.hpp"

namespace {

void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace terrace::observe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& term : event_terms(text)) require(!term.first.empty());
  } catch (const terrace::Error& error) {
    require(error.code() == terrace::Code::invalid);
  }
  try {
    Encoding ones, none;
    place_bits(text, 1, ones);
    place_bits(text, 0, none);
    require(none == Encoding{});
    require(__builtin_popcountll(ones.config | ones.config1 | ones.config2) == 1);
  } catch (const terrace::Error& error) {
    require(error.code() == terrace::Code::invalid);
  }
  return 0;
}
