// SPDX-License-Identifier: Apache-2.0
// Formats the memory that a job's processes hold as Prometheus gauges, and writes the file of `terrace run
// --gauges` about every second. See gauges.hpp.
#include "cli/gauges.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/file_option.hpp"
#include "core/atomic_file.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace {

constexpr std::chrono::seconds k_between_writes{1};

using memory::LedgerView;

// Escapes a text for a label of Prometheus' format.
std::string label_value(std::string_view text) {
  std::string value;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') value += '\\';
    if (letter == '\n')
      value += "\\n";
    else
      value += letter;
  }
  return value;
}

constexpr std::string_view k_first = "terrace_ledger_budget_bytes";
constexpr std::string_view k_first_help = "Bytes of a place that the job may hold on this node.";

std::string heading(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {} {}\n", name, help);
}

void begin_gauge(std::string& text, std::string_view name, std::string_view help) {
  text += heading(name, help) + fmt::format("# TYPE {} gauge\n", name);
}

// Adds one gauge with a value for each process and place. `of` selects the value.
void add_holdings(std::string& text, const std::vector<LedgerView>& ledgers, std::string_view name,
                  std::string_view help,
                  const std::function<std::optional<std::uint64_t>(const LedgerView::Holding&)>& of) {
  begin_gauge(text, name, help);
  for (const auto& ledger : ledgers)
    for (const auto& process : ledger.processes)
      for (std::size_t place = 0; place < ledger.places.size(); ++place)
        if (const auto bytes = of(process.holdings[place]))
          text += fmt::format("{}{{job=\"{}\",place=\"{}\",process=\"{}\"}} {}\n", name, label_value(ledger.job),
                              label_value(ledger.places[place].name), process.process, *bytes);
}

}  // namespace

void check_gauges(const std::filesystem::path& path) {
  if (path.extension() != ".prom")
    throw Error(Code::invalid,
                "--gauges " + path.string() +
                    ": the name has to end in .prom for the textfile collector; write for example terrace.prom");
  check_output_file("--gauges", path);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (line + "\n" != heading(k_first, k_first_help))
    throw Error(Code::invalid, "--gauges " + path.string() +
                                   ": this file exists and has no gauges of Terrace; name another, or remove it");
}

std::string format_gauges(const std::vector<LedgerView>& ledgers) {
  std::string text;
  begin_gauge(text, k_first, k_first_help);
  for (const auto& ledger : ledgers)
    for (const auto& place : ledger.places)
      text += fmt::format("{}{{job=\"{}\",place=\"{}\"}} {}\n", k_first, label_value(ledger.job),
                          label_value(place.name), place.budget);
  add_holdings(text, ledgers, "terrace_ledger_held_bytes", "Bytes of a place that a process holds.",
               [](const auto& holding) { return holding.held; });
  add_holdings(text, ledgers, "terrace_ledger_outstanding_bytes",
               "Bytes that a process holds and has not populated yet.",
               [](const auto& holding) { return holding.outstanding; });
  add_holdings(text, ledgers, "terrace_ledger_share_bytes",
               "Bytes of a place that are divided to a process which stated a demand.",
               [](const auto& holding) { return holding.share; });
  begin_gauge(text, "terrace_ledger_unknown_processes", "Slots that a stray write has destroyed.");
  for (const auto& ledger : ledgers)
    text += fmt::format("terrace_ledger_unknown_processes{{job=\"{}\"}} {}\n", label_value(ledger.job),
                        ledger.unknown_processes);
  return text;
}

GaugeExporter::GaugeExporter(const std::string& path, std::function<std::vector<LedgerView>()> ledgers)
    : path_(path), ledgers_(std::move(ledgers)) {
  if (path.empty()) return;
  check_gauges(path_);
  if (const auto problem = write(); !problem.empty())
    throw Error(Code::failed, "--gauges " + path + ": the file cannot be written (" + problem + "); name another");
  // A later write may succeed where one fails, on a disk that is full for a while.
  writes_.emplace(k_between_writes, [this] { (void)write(); });
}

GaugeExporter::~GaugeExporter() {
  if (!writes_) return;
  writes_.reset();
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
}

std::string GaugeExporter::write() const { return write_file_atomically(path_, format_gauges(ledgers_())); }

}  // namespace terrace::cli
