// Prints and writes the results of pim_bench: medians and quartiles by section, series and contender. See
// report.hpp.
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/units.hpp"

namespace terrace::pim::bench {
namespace {

std::string name_of(const Key& key) {
  return fmt::format("{}/{}/threads:{}/{}/{}", key.section, key.series, key.threads, key.contender, key.measure);
}

std::string shown(double value, const std::string& unit) {
  if (unit == "ns") return format(Seconds{value * 1e-9});
  const auto size = std::abs(value);
  return size >= 1e6    ? fmt::format("{:.4g}M", value / 1e6)
         : size >= 1000 ? fmt::format("{:.4g}k", value / 1e3)
                        : fmt::format("{:.3g}", value);
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const auto place = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, samples.size() - 1);
    return std::lerp(samples[below], samples[above], place - static_cast<double>(below));
  };
  return {at(0.25), at(0.5), at(0.75)};
}

void Report::add(const Key& key, const std::string& unit, double sample) {
  const auto [place, added] = places_.try_emplace(name_of(key), figures_.size());
  if (added) figures_.push_back({key, unit, {}});
  figures_[place->second].samples.push_back(sample);
}

const Report::Figure* Report::find(const Key& key) const {
  const auto place = places_.find(name_of(key));
  return place == places_.end() ? nullptr : &figures_[place->second];
}

void Report::ratio(const Key& key, const std::string& unit, const Key& of, const Key& by, double scale,
                   double offset) {
  const auto* above = find(of);
  const auto* below = find(by);
  if (above == nullptr || below == nullptr) return;
  std::vector<double> samples;
  for (std::size_t i = 0; i < std::min(above->samples.size(), below->samples.size()); ++i)
    samples.push_back(above->samples[i] / below->samples[i] * scale + offset);
  for (const auto sample : samples) add(key, unit, sample);
}

void Report::table(const std::string& section, const std::string& measure, const std::string& title) const {
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, unsigned>> rows;
  const auto once = [](auto& list, const auto& entry) {
    if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
  };
  for (const auto& [key, unit, samples] : figures_) {
    if (key.section != section || key.measure != measure) continue;
    once(columns, key.contender);
    once(rows, std::pair{key.series, key.threads});
  }
  if (rows.empty()) return;
  fmt::print("\n{}: {} (median, quartiles)\n{:<28}{:>8}", section, title, "", "threads");
  for (const auto& column : columns) fmt::print("  {:>26}", column);
  fmt::print("\n");
  for (const auto& [series, threads] : rows) {
    fmt::print("{:<28}{:>8}", series, threads);
    for (const auto& column : columns) {
      const auto* figure = find({section, series, column, measure, threads});
      if (figure == nullptr) {
        fmt::print("  {:>26}", "-");
        continue;
      }
      const auto [low, median, high] = spread_of(figure->samples);
      const auto& unit = figure->unit;
      fmt::print("  {:>26}", fmt::format("{} ({}..{})", shown(median, unit), shown(low, unit), shown(high, unit)));
    }
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void Report::write(const std::string& path, const std::map<std::string, std::string>& context) const {
  auto list = nlohmann::json::array();
  for (const auto& [key, unit, samples] : figures_) {
    const auto [low, median, high] = spread_of(samples);
    list.push_back({{"section", key.section},
                    {"series", key.series},
                    {"threads", key.threads},
                    {"contender", key.contender},
                    {"measure", key.measure},
                    {"unit", unit},
                    {"median", median},
                    {"low", low},
                    {"high", high},
                    {"least", *std::min_element(samples.begin(), samples.end())}});
  }
  std::ofstream file(path);
  file << nlohmann::json{{"context", context}, {"benchmarks", list}}.dump(1) << '\n';
  if (!file.flush())
    throw Error(Code::failed, "--benchmark_out=" + path + ": the file cannot be written: name another");
}

}  // namespace terrace::pim::bench
