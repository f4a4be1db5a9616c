// Fuzzes files of core times: any bytes either say times above 0, or are refused with an Error of one line that
// begins with the file's name. tests/fuzz/CMakeLists.txt says how.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/core_time_option.hpp"
#include "core/blob.hpp"
#include "core/error.hpp"

namespace {

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void check(const terrace::cli::CoreTimeOption& option) {
  if (option.program) require(option.program->value > 0, "no time of a program", "");
  for (const auto& [pattern, time] : option.times.phases)
    require(!pattern.empty() && time.value > 0, "no time of a phase", pattern);
  for (const auto& [name, time] : option.times.functions)
    require(!name.empty() && time.value > 0, "no time of a function", name);
  terrace::BlobWriter out;
  option.times.to_blob(out);
  terrace::BlobReader in(out.bytes());
  const auto back = terrace::observe::CoreTimes::from_blob(in);
  require(back.phases == option.times.phases && back.functions == option.times.functions,
          "core times change when their bytes are read back", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    terrace::cli::CoreTimeOption option;
    terrace::cli::parse_core_times({reinterpret_cast<const char*>(data), size}, "fuzz", option);
    check(option);
  } catch (const terrace::Error& error) {
    const std::string complaint = error.what();
    require(error.code() == terrace::Code::invalid, "a complaint with another code", complaint);
    require(complaint.find('\n') == std::string::npos, "a complaint of more than one line", complaint);
    require(complaint.starts_with("fuzz:"), "a complaint without its file", complaint);
  }
  try {
    terrace::BlobReader in({reinterpret_cast<const std::byte*>(data), size});
    static_cast<void>(terrace::observe::CoreTimes::from_blob(in));
  } catch (const terrace::Error& error) {
    require(error.code() == terrace::Code::corrupt, "a complaint with another code", error.what());
  }
  return 0;
}
