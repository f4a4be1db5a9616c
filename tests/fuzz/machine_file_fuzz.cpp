// Fuzzes the machine-file parser: any bytes either make a machine, which then comes back from its own text, or are
// refused with an Error of one line that names file and line. tests/fuzz/CMakeLists.txt says how to run it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "machine/file/machine_file.hpp"

namespace {

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace terrace::machine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto file = parse_machine_file(text, "fuzz.toml");
    const auto* measured = file.measured ? &*file.measured : nullptr;
    const auto written = format_machine_file(file.machine, measured);
    // The written text must parse to the machine that was written.
    try {
      const auto again = parse_machine_file(written, "again.toml");
      require(format_machine_file(again.machine, again.measured ? &*again.measured : nullptr) == written,
              "the text of a machine changes when it is read back", written);
    } catch (const terrace::Error& error) {
      require(false, error.what(), written);
    }
  } catch (const terrace::Error& error) {
    const std::string complaint = error.what();
    require(error.code() == terrace::Code::invalid, "a complaint with another code", complaint);
    require(complaint.starts_with("fuzz.toml:") && complaint.find('\n') == std::string::npos,
            "a complaint that is not one line with file and line", complaint);
  }
  return 0;
}
