// Gauges of a job's ledger for Prometheus, as the textfile collector of its node exporter reads them.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "memory/ledger/view.hpp"

namespace terrace::cli {

// In Prometheus' text format, with HELP and TYPE lines.
std::string format_gauges(const std::vector<memory::LedgerView>& ledgers);

// Writes them at the start and about each second, whole or not at all; removes the file at the end, so that nobody
// takes the last values for those of a job that runs.
class Gauges {
 public:
  // Nothing for "". Throws Error{failed} where the file cannot be written at the start.
  Gauges(const std::string& path, std::function<std::vector<memory::LedgerView>()> ledgers);
  ~Gauges();
  Gauges(const Gauges&) = delete;
  Gauges& operator=(const Gauges&) = delete;

 private:
  [[nodiscard]] std::string write() const;  // "", or what the system says
  void go_on();

  std::filesystem::path path_;
  std::function<std::vector<memory::LedgerView>()> ledgers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace terrace::cli
