// GaugeExporter of a job's ledger for Prometheus, as the textfile collector of its node exporter reads them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/periodic_task.hpp"
#include "memory/ledger/view.hpp"

namespace terrace::cli {

// In Prometheus' text format, with HELP and TYPE lines.
std::string format_gauges(const std::vector<memory::LedgerView>& ledgers);

// Refuses, with Error{invalid}, a name that does not end in .prom, which the collector would not read, a file that
// is no such file of gauges, as it would be replaced and removed, and a folder in which none can be made.
void check_gauges(const std::filesystem::path& path);

// Writes them at the start and about each second, whole or not at all; removes the file at the end, so that nobody
// takes the last values for those of a job that runs.
class GaugeExporter {
 public:
  // Nothing for "". Throws Error{invalid} as check_gauges() does, and Error{failed} where it cannot be written at
  // the start all the same.
  GaugeExporter(const std::string& path, std::function<std::vector<memory::LedgerView>()> ledgers);
  ~GaugeExporter();
  GaugeExporter(const GaugeExporter&) = delete;
  GaugeExporter& operator=(const GaugeExporter&) = delete;

 private:
  [[nodiscard]] std::string write() const;  // "", or what the system says

  std::filesystem::path path_;
  std::function<std::vector<memory::LedgerView>()> ledgers_;
  std::optional<PeriodicTask> writes_;
};

}  // namespace terrace::cli
