// Collects the measurements of pim_bench: one sample for each round under each key. Writes medians and quartiles
// as tables and as JSON.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

namespace terrace::pim::bench {

struct Key {
  std::string section;    // "malloc-test"
  std::string series;     // "horizontal, 8 B"
  std::string contender;  // "terrace"
  std::string measure;    // "request"
  unsigned threads = 1;
};

struct Spread {
  double low = 0, median = 0, high = 0;  // quartiles
};
Spread spread_of(std::vector<double> samples);

class Report {
 public:
  // `unit` belongs to the measure: "ns", "1/s", "%", "x".
  void add(const Key& key, const std::string& unit, double sample);
  // Adds, round by round, `of` divided by `by`, times `scale`, plus `offset`; nothing where one of them is
  // missing.
  void ratio(const Key& key, const std::string& unit, const Key& of, const Key& by, double scale = 1,
             double offset = 0);
  // Prints a row for each series and number of threads, a column for each contender.
  void table(const std::string& section, const std::string& measure, const std::string& title) const;
  // Writes JSON like Google Benchmark's: a context and a list of results.
  void write(const std::string& path, const std::map<std::string, std::string>& context) const;

 private:
  struct Figure {
    Key key;
    std::string unit;
    std::vector<double> samples;
  };
  [[nodiscard]] const Figure* find(const Key& key) const;

  std::vector<Figure> figures_;  // in the order in which they came
  std::map<std::string, std::size_t> places_;
};

}  // namespace terrace::pim::bench
