// SPDX-License-Identifier: Apache-2.0
// Makes the labels of phases and segments ("conj_grad 12 %") that plan files, tables and the Python package show.
// See segment_labels.hpp.
#include "core/segment_labels.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "core/plan.hpp"
#include "core/segment_name.hpp"

namespace terrace {
namespace {

constexpr int k_max_digits = 6;  // beyond these the exact offset is the shorter label

using Labels = std::vector<std::string>;

std::string fixed(double value, int digits) {
  char text[400];  // the longest double has 309 digits before its point
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr};
}

// Appends primes until the label is unique: a phase can have any name, also that of a label.
std::string make_unique_label(std::string label, const std::set<std::string>& used) {
  while (used.contains(label)) label += '\'';
  return label;
}

Labels share_labels(const std::string& phase, const std::string& separator, const std::vector<double>& shares,
                    int digits) {
  Labels labels;
  labels.reserve(shares.size());
  for (const auto share : shares) labels.push_back(phase + separator + fixed(100 * share, digits) + " %");
  return labels;
}

bool are_unique(const Labels& labels, const std::string& zero, const std::set<std::string>& used) {
  const std::set<std::string> each(labels.begin(), labels.end());
  return each.size() == labels.size() &&
         std::ranges::none_of(labels, [&](const auto& label) { return label == zero || used.contains(label); });
}

// Returns labels of one phase's segments by share of the phase; by offset where shares are not unique.
Labels labels_of_segments(const std::string& phase, const std::string& separator,
                          const std::vector<std::uint64_t>& offsets, double length,
                          const std::set<std::string>& used) {
  std::vector<double> each;
  each.reserve(offsets.size());
  for (const auto offset : offsets) each.push_back(static_cast<double>(offset) / length);
  for (int digits = 0; digits <= k_max_digits; ++digits) {
    auto labels = share_labels(phase, separator, each, digits);
    if (are_unique(labels, phase + separator + fixed(0, digits) + " %", used)) return labels;
  }
  Labels labels;
  for (const auto offset : offsets) labels.push_back(make_unique_label(segment_name(phase, offset), used));
  return labels;
}

}  // namespace

std::vector<std::uint32_t> phase_starts(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> starts;
  for (std::uint32_t k = 0; k < names.size(); ++k) {
    const auto offset = segment_offset(names[k]);
    const bool follows = k > 0 && offset > segment_offset(names[k - 1]) &&
                         phase_of_segment(names[k]) == phase_of_segment(names[k - 1]) && offset != 0;
    if (!follows) starts.push_back(k);
  }
  return starts;
}

Labels phase_labels(const Labels& phases) {
  std::map<std::string, int> total, begun;
  std::set<std::string> used;
  for (const auto& name : phases) ++total[name];
  for (const auto& [name, times] : total)
    if (times == 1) used.insert(name);
  Labels labels;
  for (const auto& name : phases) {
    if (total[name] == 1) {
      labels.push_back(name);
      continue;
    }
    labels.push_back(make_unique_label(name + " " + std::to_string(++begun[name]), used));
    used.insert(labels.back());
  }
  return labels;
}

Labels segment_labels(const Labels& names, const std::vector<std::uint64_t>& lengths) {
  const auto starts = phase_starts(names);
  Labels phases;
  for (const auto start : starts) phases.emplace_back(phase_of_segment(names[start]));
  const auto of_phases = phase_labels(phases);
  std::set<std::string> used(of_phases.begin(), of_phases.end());
  Labels labels;
  for (std::size_t p = 0; p < starts.size(); ++p) {
    labels.push_back(of_phases[p]);
    const auto end = p + 1 < starts.size() ? starts[p + 1] : static_cast<std::uint32_t>(names.size());
    std::vector<std::uint64_t> offsets;
    for (auto k = starts[p] + 1; k < end; ++k) offsets.push_back(segment_offset(names[k]));
    if (offsets.empty()) continue;
    const auto* separator = of_phases[p] == phases[p] ? " " : ", ";
    for (auto& label :
         labels_of_segments(of_phases[p], separator, offsets, phase_length(names, lengths, starts[p]), used)) {
      used.insert(label);
      labels.push_back(std::move(label));
    }
  }
  return labels;
}

}  // namespace terrace
