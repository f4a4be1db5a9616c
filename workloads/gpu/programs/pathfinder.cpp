// Implements pathfinder: the cheapest path through a grid from its first row to its last, at most one column to
// either side per row, by dynamic programming (Rodinia; Che et al., "Rodinia: a benchmark suite for heterogeneous
// computing", IISWC 2009). A CTA keeps its part of a row in shared memory and computes `height` rows with a
// shrinking middle (a ghost zone), so that a kernel reads each wall once and the row of results once.
#include <algorithm>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 256;

std::vector<std::int32_t> cheapest_ways(std::span<const std::int32_t> wall, std::size_t columns,
                                        std::size_t rows) {
  std::vector<std::int32_t> row(wall.begin(), wall.begin() + static_cast<std::ptrdiff_t>(columns));
  for (std::size_t r = 1; r < rows; ++r) {
    auto next = row;
    for (std::size_t i = 0; i < columns; ++i) {
      auto least = row[i];
      if (i > 0) least = std::min(least, row[i - 1]);
      if (i + 1 < columns) least = std::min(least, row[i + 1]);
      next[i] = wall[r * columns + i] + least;
    }
    row = std::move(next);
  }
  return row;
}

class Pathfinder final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "pathfinder"; }
  [[nodiscard]] std::string_view title() const override { return "Cheapest way through a grid, row by row"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Numbers: columns, rows, rows per kernel.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{{"test", {3000, 21, 5}, ""},
                                                {"paper", {100000, 100, 20}, "Rodinia's run script"}};
    return sizes;
  }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto columns = static_cast<std::int32_t>(numbers[0]);
    const auto rows = static_cast<std::int32_t>(numbers[1]);
    const auto height = static_cast<std::int32_t>(numbers[2]);
    const auto size = static_cast<std::size_t>(columns);
    auto wall = device.array<std::int32_t>("wall", size * static_cast<std::size_t>(rows - 1));
    std::vector<Array<std::int32_t>> results{device.array<std::int32_t>("result.0", size),
                                             device.array<std::int32_t>("result.1", size)};
    std::vector<std::int32_t> grid(size * static_cast<std::size_t>(rows));
    std::mt19937 random(7);
    for (auto& weight : grid) weight = static_cast<std::int32_t>(random() % 10);
    std::copy_n(grid.begin(), columns, results[0].host().begin());
    std::copy(grid.begin() + columns, grid.end(), wall.host().begin());

    std::size_t from = 0;
    for (std::int32_t first = 0; first < rows - 1; first += height) {
      step(device, wall, results[from], results[1 - from], columns, first, std::min(height, rows - 1 - first));
      from = 1 - from;
    }
    const auto expected = cheapest_ways(grid, size, static_cast<std::size_t>(rows));
    Comparison comparison;
    for (std::size_t i = 0; i < size; ++i) comparison.add(results[from].host()[i], expected[i]);
    return comparison.verdict("lengths of ways", 0);
  }

 private:
  static void step(Device& device, const Array<std::int32_t>& wall, const Array<std::int32_t>& from,
                   const Array<std::int32_t>& to, std::int32_t columns, std::int32_t first, std::int32_t height) {
    const auto inner = k_threads - 2 * height;  // results of a CTA
    const auto ctas = (columns + inner - 1) / inner;
    Shared<std::int32_t> previous(k_threads);
    Shared<std::int32_t> result(k_threads);
    device.launch({"pathfinder", ctas, k_threads, 16, previous.bytes() + result.bytes()},
                  [&, height](Thread& t) -> ThreadRun {
                    const auto i = t.thread();
                    const auto column = t.block() * inner - height + i;
                    const bool inside = column >= 0 && column < columns;
                    if (inside) t.write(previous.span(), i, t.load(from, column));
                    co_await t.barrier();
                    for (std::int32_t r = 0; r < height; ++r) {
                      const bool is_made = i >= r + 1 && i <= k_threads - 2 - r && inside;
                      if (is_made) {
                        auto least = t.read(previous.span(), i);
                        if (column > 0) least = min(least, t.read(previous.span(), i - 1));
                        if (column < columns - 1) least = min(least, t.read(previous.span(), i + 1));
                        t.write(result.span(), i, least + t.load(wall, (first + r) * columns + column));
                      }
                      co_await t.barrier();
                      if (is_made) t.write(previous.span(), i, t.read(result.span(), i));
                      co_await t.barrier();
                    }
                    if (inside && i >= height && i < k_threads - height)
                      t.store(to, column, t.read(previous.span(), i));
                  });
  }
};

}  // namespace

const GpuProgram& pathfinder_program() {
  static const Pathfinder program;
  return program;
}

}  // namespace terrace::gpu_sim
