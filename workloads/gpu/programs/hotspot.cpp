// Implements hotspot: the temperature of a chip over time, by explicit steps on a grid of cells, from the power of
// each cell (Rodinia; Che et al., "Rodinia: a benchmark suite for heterogeneous computing", IISWC 2009; the model
// and its constants: Huang et al., "HotSpot", IEEE TVLSI 2006). A CTA of 16 x 16 threads loads a tile and computes
// `height` steps in shared memory with a shrinking middle (a ghost zone), so that a kernel reads each matrix about
// once.
//
// The published kernel computes in double precision where a constant of the formula is a double; this one does
// not. Temperatures and powers are random; a power is up to 1 W, so that an error in it shows.
#include <algorithm>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_block = 16;
constexpr std::int32_t k_threads = k_block * k_block;
constexpr double k_ambient = 80;  // as published

struct Grid {
  std::int32_t rows = 0;
  std::int32_t columns = 0;
};

// The published chip of 16 mm with 512 x 512 cells; a smaller grid is a part of it.
namespace chip {
constexpr double k_side = 0.016 / 512;  // m, of a cell
constexpr double k_thickness = 0.0005;  // m
constexpr double k_heat = 1.75e6;       // J / (m^3 K), of silicon
constexpr double k_conductivity = 100;  // W / (m K)
constexpr double k_factor = 0.5;        // of the capacity, for the lumped model
constexpr double k_max_power = 3.0e6;   // W / m^2
constexpr double k_precision = 0.001;   // K, max change of a step by power alone
// Constants of a cell.
constexpr double k_capacity = k_factor * k_heat * k_thickness * k_side * k_side;
constexpr double k_resistance_x = 1 / (2 * k_conductivity * k_thickness);
constexpr double k_resistance_y = k_resistance_x;
constexpr double k_resistance_z = k_thickness / (k_conductivity * k_side * k_side);
constexpr double k_step = k_precision / (k_max_power / (k_factor * k_thickness * k_heat));  // s
}  // namespace chip

// Reference implementation in double precision; each step computes the whole grid.
std::vector<double> temperatures_after(std::int32_t steps, const Grid& grid, std::span<const float> start,
                                       std::span<const float> power) {
  std::vector<double> now(start.begin(), start.end());
  for (std::int32_t step = 0; step < steps; ++step) {
    auto next = now;
    for (std::int32_t r = 0; r < grid.rows; ++r)
      for (std::int32_t c = 0; c < grid.columns; ++c) {
        const auto at = r * grid.columns + c;
        // No heat flows across the border.
        auto flow = double{power[at]} + (k_ambient - now[at]) / chip::k_resistance_z;
        if (r > 0) flow += (now[at - grid.columns] - now[at]) / chip::k_resistance_y;
        if (r + 1 < grid.rows) flow += (now[at + grid.columns] - now[at]) / chip::k_resistance_y;
        if (c > 0) flow += (now[at - 1] - now[at]) / chip::k_resistance_x;
        if (c + 1 < grid.columns) flow += (now[at + 1] - now[at]) / chip::k_resistance_x;
        next[at] = now[at] + chip::k_step / chip::k_capacity * flow;
      }
    now = std::move(next);
  }
  return now;
}

// Returns, for one direction of a CTA, which of its threads' cells are on the grid.
struct Valid {
  Value<std::int32_t> first;
  Value<std::int32_t> last;
};

Valid valid_part(Thread& t, const Value<std::int32_t>& begin, std::int32_t cells) {
  const auto last = begin + (k_block - 1);
  return {choose(begin < 0, -begin, t.own(0)),
          choose(last > cells - 1, k_block - 1 - (last - cells + 1), t.own(k_block - 1))};
}

bool in_range(const Value<std::int32_t>& i, const Value<std::int32_t>& first, const Value<std::int32_t>& last) {
  return i >= first && i <= last;
}

class Hotspot final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "hotspot"; }
  [[nodiscard]] std::string_view title() const override { return "Temperature of a chip over time"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Numbers: rows, columns, steps per kernel (the pyramid's height), steps.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {50, 70, 2, 5}, ""},
        {"paper",
         {512, 512, 2, 20},
         "20 steps; the published code makes 60 unless told otherwise, its run script 2"}};
    return sizes;
  }

  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 3; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const Grid grid{static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[1])};
    const auto height = static_cast<std::int32_t>(numbers[2]);
    const auto steps = static_cast<std::int32_t>(numbers[3]);
    const auto cells = static_cast<std::size_t>(grid.rows) * static_cast<std::size_t>(grid.columns);
    auto power = device.array<float>("MatrixPower", cells);
    std::vector<Array<float>> temperatures{device.array<float>("MatrixTemp.0", cells),
                                           device.array<float>("MatrixTemp.1", cells)};
    std::mt19937 random(17);
    const auto number = [&] { return static_cast<float>(random() >> 8) / 16777216.0F; };  // 0 to 1
    std::ranges::generate(power.host(), number);
    std::ranges::generate(temperatures[0].host(), [&] { return 320 + 20 * number(); });
    const auto expected = temperatures_after(steps, grid, temperatures[0].host(), power.host());

    std::size_t from = 0;
    for (std::int32_t done = 0; done < steps; done += height) {
      make_steps(device, grid, power, temperatures[from], temperatures[1 - from], height,
                 std::min(height, steps - done));
      from = 1 - from;
    }
    // Each step rounds in single precision.
    Comparison comparison;
    for (std::size_t i = 0; i < cells; ++i) comparison.add(double{temperatures[from].host()[i]}, expected[i]);
    return comparison.verdict("temperatures", 1e-6);
  }

 private:
  static void make_steps(Device& device, const Grid& grid, const Array<float>& power, const Array<float>& from,
                         const Array<float>& to, std::int32_t height, std::int32_t steps) {
    // The number of CTAs and the border are those of a kernel with all steps, even if fewer steps remain.
    const auto ctas_of = [&](std::int32_t cells) {
      const auto inner = k_block - 2 * height;
      return (cells + inner - 1) / inner;
    };
    const auto ctas_x = ctas_of(grid.columns);
    const auto ctas_y = ctas_of(grid.rows);
    Shared<float> temp_on_cuda(k_threads);
    Shared<float> power_on_cuda(k_threads);
    Shared<float> temp_t(k_threads);
    const auto shared_bytes = temp_on_cuda.bytes() + power_on_cuda.bytes() + temp_t.bytes();
    device.launch({"calculate_temp", ctas_x * ctas_y, k_threads, 30, shared_bytes}, [&](Thread& t) -> ThreadRun {
      const auto x = t.own(t.thread().needed() % k_block);
      const auto y = t.own(t.thread().needed() / k_block);
      const auto step_div_cap = t.own(static_cast<float>(chip::k_step)) / static_cast<float>(chip::k_capacity);
      const auto rx_1 = 1 / t.own(static_cast<float>(chip::k_resistance_x));
      const auto ry_1 = 1 / t.own(static_cast<float>(chip::k_resistance_y));
      const auto rz_1 = 1 / t.own(static_cast<float>(chip::k_resistance_z));
      const auto inner = k_block - 2 * t.own(steps);
      const auto first_row = inner * t.own(t.block().needed() / ctas_x) - height;
      const auto first_column = inner * t.own(t.block().needed() % ctas_x) - height;
      const auto row = first_row + y;
      const auto column = first_column + x;
      const auto index = fma(row, grid.columns, column);
      const auto cell = fma(y, k_block, x);
      if (in_range(row, 0, grid.rows - 1) && in_range(column, 0, grid.columns - 1)) {
        t.write(temp_on_cuda.span(), cell, t.load(from, index));
        t.write(power_on_cuda.span(), cell, t.load(power, index));
      }
      co_await t.barrier();

      const auto valid_y = valid_part(t, first_row, grid.rows);
      const auto valid_x = valid_part(t, first_column, grid.columns);
      const auto north = fma(max(y - 1, valid_y.first), k_block, x);
      const auto south = fma(min(y + 1, valid_y.last), k_block, x);
      const auto west = fma(y, k_block, max(x - 1, valid_x.first));
      const auto east = fma(y, k_block, min(x + 1, valid_x.last));
      bool computed = false;
      for (std::int32_t i = 0; i < steps; ++i) {
        computed = in_range(x, i + 1, k_block - i - 2) && in_range(y, i + 1, k_block - i - 2) &&
                   in_range(x, valid_x.first, valid_x.last) && in_range(y, valid_y.first, valid_y.last);
        if (computed) {
          const auto temperature = t.read(temp_on_cuda.span(), cell);
          const auto neighbours_y = t.read(temp_on_cuda.span(), south) + t.read(temp_on_cuda.span(), north);
          const auto neighbours_x = t.read(temp_on_cuda.span(), east) + t.read(temp_on_cuda.span(), west);
          auto flow = fma(fma(temperature, -2.0F, neighbours_y), ry_1, t.read(power_on_cuda.span(), cell));
          flow = fma(fma(temperature, -2.0F, neighbours_x), rx_1, flow);
          flow = fma(static_cast<float>(k_ambient) - temperature, rz_1, flow);
          t.write(temp_t.span(), cell, fma(step_div_cap, flow, temperature));
        }
        co_await t.barrier();
        if (i == steps - 1) break;
        if (computed) t.write(temp_on_cuda.span(), cell, t.read(temp_t.span(), cell));
        co_await t.barrier();
      }
      if (computed) t.store(to, index, t.read(temp_t.span(), cell));
    });
  }
};

}  // namespace

const GpuProgram& hotspot_program() {
  static const Hotspot program;
  return program;
}

}  // namespace terrace::gpu_sim
