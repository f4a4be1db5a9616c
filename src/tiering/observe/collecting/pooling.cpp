// SPDX-License-Identifier: Apache-2.0
// Shrinks the sampled counts of chunks towards their object's mean, for the load-sampling collector. See
// pooling.hpp.
#include "observe/collecting/pooling.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace terrace::observe {

namespace {

struct PooledCount {
  double count = 0;     // samples
  double bytes = 0;     // of the chunk
  double retained = 1;  // share of its deviation from the mean that is kept
  double expected = 0;  // samples
};

// Sets the expected counts, by the formula in the header, scaled to the sum of the samples.
void shrink(std::vector<PooledCount>& all) {
  double count = 0, bytes = 0;
  for (const auto& one : all) {
    count += one.count;
    bytes += one.bytes;
  }
  double excess = -count, squares = 0;
  for (const auto& one : all) {
    const auto mean = count * one.bytes / bytes;
    excess += (one.count - mean) * (one.count - mean);
    squares += mean * mean;
  }
  const auto spread = std::max(0.0, excess / squares);
  double sum = 0;
  for (auto& one : all) {
    const auto mean = count * one.bytes / bytes;
    one.retained = spread * mean / (1 + spread * mean);
    one.expected = mean + one.retained * (one.count - mean);
    sum += one.expected;
  }
  for (auto& one : all) one.expected *= count / sum;
}

using Group = std::vector<Cell*>;

// Returns the mean number of lines that a sample stands for.
double lines_per_sample(const Group& group) {
  double lines = 0, squares = 0;
  for (const auto* cell : group) {
    lines += cell->read_lines - cell->streamed_lines + cell->write_lines;
    squares += cell->line_squares;
  }
  return lines > 0 ? squares / lines : 0;
}

// Returns a value of the group's cells in samples, shrunk towards the group's mean.
template <class Value>
std::vector<PooledCount> pool(const Group& group, const memory::ChunkTable& chunks, double unit, Value value) {
  std::vector<PooledCount> all;
  all.reserve(group.size());
  for (const auto* cell : group)
    all.push_back({value(*cell) / unit, static_cast<double>(chunks[cell->chunk].size)});
  shrink(all);
  return all;
}

void pool_written(Group group, const memory::ChunkTable& chunks, double unit) {
  std::erase_if(group, [](const Cell* cell) { return cell->write_lines <= 0; });
  if (group.size() < 2) return;
  const auto all = pool(group, chunks, unit, [](const Cell& cell) { return cell.write_lines; });
  for (std::size_t i = 0; i < group.size(); ++i) group[i]->write_lines = all[i].expected * unit;
}

// Shrinks the exposure of a miss by the same factor as the number of misses.
void pool_demanded(Group group, const memory::ChunkTable& chunks, double unit) {
  std::erase_if(group, [](const Cell* cell) { return cell->read_lines <= cell->streamed_lines; });
  if (group.size() < 2) return;
  const auto demanded = [](const Cell& cell) { return cell.read_lines - cell.streamed_lines; };
  const auto all = pool(group, chunks, unit, demanded);
  double lines = 0, exposure = 0, sum = 0;
  for (const auto* cell : group) {
    lines += demanded(*cell);
    exposure += cell->exposure - cell->streamed_exposure;
  }
  std::vector<double> exposures;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto& cell = *group[i];
    const auto own = (cell.exposure - cell.streamed_exposure) / demanded(cell);
    const auto per_line = exposure / lines + all[i].retained * (own - exposure / lines);
    sum += exposures.emplace_back(per_line * all[i].expected);
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    auto& cell = *group[i];
    cell.read_lines = cell.streamed_lines + all[i].expected * unit;
    const auto before = cell.exposure;
    cell.exposure = cell.streamed_exposure + (sum > 0 ? exposure * exposures[i] / sum : 0);
    if (before > 0) cell.samples *= cell.exposure / before;
  }
}

}  // namespace

void pool_alike(Phase& phase, const memory::ChunkTable& chunks, const PlaceView& view) {
  std::map<std::pair<ObjectId, PlaceId>, Group> groups;
  for (auto& cell : phase.cells) {
    const auto& chunk = chunks[cell.chunk];
    groups[{chunk.object, view.place_of(chunk)}].push_back(&cell);
  }
  for (const auto& [key, group] : groups) {
    const auto unit = lines_per_sample(group);
    if (unit <= 0) continue;
    pool_demanded(group, chunks, unit);
    pool_written(group, chunks, unit);
  }
}

}  // namespace terrace::observe
