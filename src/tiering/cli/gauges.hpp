// SPDX-License-Identifier: Apache-2.0
// Implements `terrace run --gauges`: exports the job's ledger (the memory that each process holds in each place)
// as gauges for Prometheus, in a file that the textfile collector of its node exporter reads.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/periodic_task.hpp"
#include "memory/ledger/view.hpp"

namespace terrace::cli {

// Formats ledgers in Prometheus' text format, with HELP and TYPE lines.
std::string format_gauges(const std::vector<memory::LedgerView>& ledgers);

// Throws Error{invalid} for a name that does not end in .prom, which the collector would not read; for an existing
// file without gauges of Terrace, which would be replaced and removed; and for a folder that is not writable.
void check_gauges(const std::filesystem::path& path);

// Writes the gauges at the start and about every second, atomically. Removes the file at the end, so that the last
// values are not taken for those of a running job.
class GaugeExporter {
 public:
  // Does nothing if `path` is "". `ledgers` is called on another thread. Throws Error{invalid} as check_gauges(),
  // and Error{failed} if the first write fails.
  GaugeExporter(const std::string& path, std::function<std::vector<memory::LedgerView>()> ledgers);
  ~GaugeExporter();
  GaugeExporter(const GaugeExporter&) = delete;
  GaugeExporter& operator=(const GaugeExporter&) = delete;

 private:
  [[nodiscard]] std::string write() const;  // returns "", or the system's error

  std::filesystem::path path_;
  std::function<std::vector<memory::LedgerView>()> ledgers_;
  std::optional<PeriodicTask> writes_;
};

}  // namespace terrace::cli
