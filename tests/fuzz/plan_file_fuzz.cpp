// Fuzzes the plan-file parser: any bytes either make a plan, which then comes back from its own text and its own
// bytes, or are refused with an Error of one line that names file and line. tests/fuzz/CMakeLists.txt says how.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "strategy/files/plan_file.hpp"

namespace {

using terrace::Plan;
using terrace::strategy::format_plan;

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

std::string bytes_of(const Plan& plan) {
  terrace::BlobWriter out;
  plan.to_blob(out);
  return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

void check(const Plan& plan) {
  const auto written = format_plan(plan);
  const auto bytes = bytes_of(plan);
  try {
    require(bytes_of(terrace::strategy::parse_plan(written, "again.toml")) == bytes,
            "a plan changes when its text is read back", written);
    terrace::BlobReader in({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    require(format_plan(Plan::from_blob(in)) == written, "a plan changes when its bytes are read back", written);
  } catch (const terrace::Error& error) {
    require(false, error.what(), written);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check(terrace::strategy::parse_plan({reinterpret_cast<const char*>(data), size}, "fuzz.toml"));
  } catch (const terrace::Error& error) {
    const std::string complaint = error.what();
    require(error.code() == terrace::Code::invalid, "a complaint with another code", complaint);
    require(complaint.starts_with("fuzz.toml:") && complaint.find('\n') == std::string::npos,
            "a complaint that is not one line with file and line", complaint);
  }
  // Read the bytes as a plan's binary form, which the launcher and journals hold.
  try {
    terrace::BlobReader in({reinterpret_cast<const std::byte*>(data), size});
    static_cast<void>(Plan::from_blob(in));
  } catch (const terrace::Error& error) {
    require(error.code() == terrace::Code::corrupt, "a complaint with another code", error.what());
  }
  return 0;
}
