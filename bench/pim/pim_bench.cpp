// Compares Terrace's allocator for processing in memory, the published algorithm, and the mallocs of this machine,
// in one run of `make bench`: every round measures all of them, one after the other. Results are medians.
//
//   pim_bench [--quick] [--rounds N] [--only "malloc-test"] --benchmark_out=pim.json --benchmark_out_format=json
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <thread>

#include "sections.hpp"

namespace {

using namespace terrace::pim::bench;

std::map<std::string, std::string> context_of(const Settings& settings) {
  double load[3] = {};
  getloadavg(load, 3);
  std::map<std::string, std::string> context{{"device", describe(k_device)},
                                             {"rounds", std::to_string(settings.rounds)},
                                             {"cores", std::to_string(std::thread::hardware_concurrency())},
                                             {"load average", fmt::format("{:.2f}", load[0])}};
  for (const auto contender : {Contender::glibc, Contender::jemalloc, Contender::mimalloc})
    context[name_of(contender)] = library_of(contender) ? "present" : "absent: not compared";
  return context;
}

int measure(int count, char** arguments) {
  Settings settings;
  std::string only, out, format = "json";
  CLI::App options("Allocators for processing in memory, compared");
  options.add_option("--benchmark_out", out, "write the figures to this file");
  options.add_option("--benchmark_out_format", format, "json")->check(CLI::IsMember({"json"}));
  options.add_option("--only", only, "one part")
      ->check(CLI::IsMember({"full array", "malloc-test", "churn", "micro"}));
  const auto* rounds =
      options.add_option("--rounds", settings.rounds, "11; 5 with --quick")->check(CLI::Range(1, 1000));
  options.add_flag("--quick", settings.quick, "fewer sizes, shorter measurements");
  try {
    options.parse(count, arguments);
  } catch (const CLI::ParseError& wrong) {
    return options.exit(wrong) == 0 ? 0 : 2;
  }
  if (settings.quick && rounds->empty()) settings.rounds = 5;
  const auto context = context_of(settings);
  for (const auto& [name, value] : context) fmt::print("{}: {}\n", name, value);
  Report report;
  const auto chosen = [&](const char* name) { return only.empty() || only == name; };
  if (chosen("full array")) full_array(settings, report);  // first: while there has been one thread only
  if (chosen("malloc-test")) malloc_test(settings, report);
  if (chosen("churn")) churn(settings, report);
  if (chosen("micro")) micro(settings, report);
  if (!out.empty()) report.write(out, context);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    make_room_for_libraries(arguments);
    return measure(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pim_bench: %s\n", error.what());
    return 1;
  }
}
