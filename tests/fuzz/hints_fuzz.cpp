// Fuzzes hints files and expressions: any bytes either make hints, which then come back from their own bytes, or
// are refused with an Error of one line; and any bytes as the launcher's make hints whose expressions can be
// evaluated, or are refused. tests/fuzz/CMakeLists.txt says how.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "strategy/files/hints_file.hpp"

namespace {

using terrace::strategy::Expression;
using terrace::strategy::Hints;

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

std::string bytes_of(const Hints& hints) {
  terrace::BlobWriter out;
  hints.to_blob(out);
  return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

void evaluate(const Expression& expression) {
  const auto one = [](const std::string&) { return std::optional(3.0); };
  const auto nothing = [](const std::string&) -> std::optional<double> { return std::nullopt; };
  const auto known = expression.evaluate({one, one});
  require(!known.problem.empty() || known.value - known.value == 0, "a value that is not finite",
          expression.text());
  const auto names = expression.names().size() + expression.objects().size();
  const auto unknown = expression.evaluate({nothing, nothing});
  require(names == 0 || !unknown.problem.empty(), "a value out of nothing", expression.text());
}

void check(const Hints& hints) {
  const auto bytes = bytes_of(hints);
  terrace::BlobReader in({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  require(bytes_of(Hints::from_blob(in)) == bytes, "hints change when their bytes are read back", "");
  for (const auto& count : hints.counts) evaluate(count.references);
}

void require_one_line(const terrace::Error& error) {
  const std::string complaint = error.what();
  require(error.code() == terrace::Code::invalid, "a complaint with another code", complaint);
  require(complaint.find('\n') == std::string::npos, "a complaint of more than one line", complaint);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(terrace::strategy::parse_hints(text, "fuzz.toml"));
  } catch (const terrace::Error& error) {
    require_one_line(error);
    require(std::string_view(error.what()).starts_with("fuzz.toml:"), "a complaint without its file",
            error.what());
  }
  try {
    evaluate(Expression::parse(text));
  } catch (const terrace::Error& error) {
    require_one_line(error);
  }
  try {
    terrace::BlobReader in({reinterpret_cast<const std::byte*>(data), size});
    for (const auto& count : Hints::from_blob(in).counts) evaluate(count.references);
  } catch (const terrace::Error& error) {
    require(error.code() == terrace::Code::corrupt, "a complaint with another code", error.what());
  }
  return 0;
}
