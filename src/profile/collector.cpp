// Phases and iterations of a collector. See collector.hpp.
#include "profile/collector.hpp"

#include <algorithm>
#include <utility>

namespace terrace::profile {

namespace {

// Both lists of cells ascend by chunk, and so does the sum.
std::vector<Cell> add(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  std::vector<Cell> sum;
  sum.reserve(a.size() + b.size());
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->chunk < right->chunk)) {
      sum.push_back(*left++);
    } else if (left == a.end() || right->chunk < left->chunk) {
      sum.push_back(*right++);
    } else {
      sum.push_back({left->chunk, left->read_lines + right->read_lines, left->write_lines + right->write_lines,
                     left->exposure + right->exposure, left->samples + right->samples});
      ++left;
      ++right;
    }
  }
  return sum;
}

void add(Phase& first, const Phase& second) {
  first.time += second.time;
  first.core += second.core;
  first.samples += second.samples;
  first.samples_with_access += second.samples_with_access;
  first.bandwidth_time += second.bandwidth_time;
  first.cells = add(first.cells, second.cells);
}

}  // namespace

void Collector::begin_iteration(std::uint32_t number) {
  iteration_ = {number, {}};
  in_phase_ = false;
  Phase dropped;
  finish(dropped);
}

void Collector::begin_phase(std::string_view name) {
  iteration_.phases.emplace_back().name = name;
  in_phase_ = true;
}

void Collector::end_phase(Seconds time) {
  if (!in_phase_) return;
  in_phase_ = false;
  auto& phase = iteration_.phases.back();
  phase.time = time;
  finish(phase);
  std::sort(phase.cells.begin(), phase.cells.end(),
            [](const Cell& a, const Cell& b) { return a.chunk < b.chunk; });
}

void Collector::merge_pairs(std::size_t count) {
  auto& phases = iteration_.phases;
  if (count > phases.size()) return;
  const auto begin = phases.size() - count;
  for (std::size_t i = 0; i + 1 < count; i += 2) add(phases[begin + i], phases[begin + i + 1]);
  for (std::size_t i = 2; i < count; i += 2) phases[begin + i / 2] = std::move(phases[begin + i]);
  phases.resize(begin + count / 2);
}

Iteration Collector::take_iteration() { return std::exchange(iteration_, {}); }

}  // namespace terrace::profile
