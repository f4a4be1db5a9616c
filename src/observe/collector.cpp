// Phases and iterations of a collector. See collector.hpp.
#include "observe/collector.hpp"

#include <algorithm>
#include <utility>

namespace terrace::observe {

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
                     left->exposure + right->exposure, left->samples + right->samples,
                     left->line_squares + right->line_squares, left->streamed_lines + right->streamed_lines,
                     left->streamed_exposure + right->streamed_exposure});
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
  first.unowned_lines += second.unowned_lines;
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

void Collector::merge(std::size_t from_end) {
  auto& phases = iteration_.phases;
  if (from_end == 0 || from_end >= phases.size()) return;
  const auto first = phases.end() - 1 - static_cast<std::ptrdiff_t>(from_end);
  add(*first, *(first + 1));
  phases.erase(first + 1);
}

Iteration Collector::take_iteration() {
  complete(iteration_);
  return std::exchange(iteration_, {});
}

}  // namespace terrace::observe
