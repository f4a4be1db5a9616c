// Implements XSBench: macroscopic cross-sections for neutrons of random energies in random materials, the part of
// Monte Carlo reactor codes that takes most of their time (Tramm et al., "XSBench: the development and
// verification of a performance abstraction for Monte Carlo reactor analysis", PHYSOR 2014), event-based, with a
// unionised energy grid. A thread does one lookup: a binary search of the energy in the grid of all nuclides'
// energies, then, for each nuclide of the material, two grid points of 6 numbers (an array of structures) at an
// index from the energy's row of the index grid. Rows and points of different threads are unrelated.
//
// The nuclides of the materials are random; their numbers and the materials' probabilities are published. The
// random numbers of a lookup are a hash of its number, as in a generator that can skip ahead.
#include <algorithm>
#include <array>
#include <random>
#include <ranges>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 256;
constexpr std::int32_t k_nuclides = 68;
constexpr std::int32_t k_materials = 12;
constexpr std::int32_t k_max_nuclides = 34;       // per material: the row length of `mats` and `concs`
constexpr std::int32_t k_sections = 5;            // total, elastic, absorption, fission, neutrons by fission
constexpr std::int32_t k_point = 1 + k_sections;  // numbers of a grid point, its energy first
constexpr std::array<std::int32_t, k_materials> k_nuclides_of{34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9};
constexpr std::array<double, k_materials> k_probability{0.140, 0.052, 0.275, 0.134, 0.154, 0.064,
                                                        0.066, 0.055, 0.008, 0.015, 0.025, 0.013};

// Upper ends of the materials' intervals in [0, 1).
std::array<double, k_materials> ends_of_materials() {
  std::array<double, k_materials> ends{};
  double sum = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = sum += k_probability[i];
  return ends;
}

// Returns a number in [0, 1) from a 64-bit number: SplitMix64's mixing (Steele et al., "Fast splittable
// pseudorandom number generators", OOPSLA 2014), upper 53 bits. For values of a thread and for plain numbers.
template <class Number>
auto mixed(Number z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (z ^ (z >> 31)) >> 11;
}
constexpr std::uint64_t k_increment = 0x9e3779b97f4a7c15ULL;
constexpr double k_unit = 1.0 / (std::uint64_t{1} << 53);

double random_unit(std::mt19937& random) { return (static_cast<double>(random()) + 0.5) / 4294967296.0; }

struct Arrays {
  Array<std::int32_t> num_nucs;
  Array<double> concs;
  Array<std::int32_t> mats;
  Array<double> unionized_energy_array;
  Array<std::int32_t> index_grid;
  Array<double> nuclide_grid;
  Array<std::uint64_t> verification;
};

using Sections = std::array<double, k_sections>;

void make_materials(const Arrays& a, std::mt19937& random) {
  std::array<std::int32_t, k_nuclides> nuclides{};
  for (std::int32_t i = 0; i < k_nuclides; ++i) nuclides[i] = i;
  for (std::int32_t m = 0; m < k_materials; ++m) {
    a.num_nucs.host()[m] = k_nuclides_of[m];
    for (std::int32_t i = 0; i < k_nuclides_of[m]; ++i) {
      std::swap(nuclides[i], nuclides[i + static_cast<std::int32_t>(random() % (k_nuclides - i))]);
      a.mats.host()[m * k_max_nuclides + i] = nuclides[i];
      a.concs.host()[m * k_max_nuclides + i] = random_unit(random);
    }
  }
}

// Each nuclide's points by energy, then all energies in order, each with the points at or below it of all
// nuclides.
void make_grids(const Arrays& a, std::int32_t points, std::mt19937& random) {
  const auto grid = a.nuclide_grid.host();
  std::vector<double> energies(static_cast<std::size_t>(points));
  for (std::int32_t nuclide = 0; nuclide < k_nuclides; ++nuclide) {
    for (auto& energy : energies) energy = random_unit(random);
    std::ranges::sort(energies);
    for (std::int32_t i = 0; i < points; ++i) {
      const auto at = static_cast<std::size_t>(nuclide) * energies.size() + static_cast<std::size_t>(i);
      grid[at * k_point] = a.unionized_energy_array.host()[at] = energies[i];
      for (std::int32_t k = 1; k < k_point; ++k) grid[at * k_point + k] = random_unit(random);
    }
  }
  std::ranges::sort(a.unionized_energy_array.host());
  std::array<std::int32_t, k_nuclides> below{};
  for (std::int32_t e = 0; e < k_nuclides * points; ++e)
    for (std::int32_t nuclide = 0; nuclide < k_nuclides; ++nuclide) {
      auto& i = below[nuclide];
      // Interpolation needs a point above, so the last point is excluded.
      while (i < points - 2 && grid[(static_cast<std::size_t>(nuclide) * points + i + 1) * k_point] <=
                                   a.unionized_energy_array.host()[e])
        ++i;
      a.index_grid.host()[e * k_nuclides + nuclide] = i;
    }
}

// Returns macroscopic cross-sections of a material at an energy without the unionised grid: each nuclide is
// searched on its own.
Sections expected_sections(const Arrays& a, std::int32_t points, double energy, std::int32_t material) {
  Sections sections{};
  for (std::int32_t j = 0; j < k_nuclides_of[material]; ++j) {
    const auto nuclide = a.mats.host()[material * k_max_nuclides + j];
    const auto grid = a.nuclide_grid.host().subspan(static_cast<std::size_t>(nuclide) * points * k_point);
    const auto below = *std::ranges::partition_point(
        std::views::iota(0, points - 2), [&](std::int32_t i) { return grid[(i + 1) * k_point] <= energy; });
    const auto low = grid.subspan(below * k_point, k_point);
    const auto high = grid.subspan((below + 1) * k_point, k_point);
    const auto part = (high[0] - energy) / (high[0] - low[0]);
    for (std::int32_t k = 0; k < k_sections; ++k)
      sections[k] +=
          (high[k + 1] - part * (high[k + 1] - low[k + 1])) * a.concs.host()[material * k_max_nuclides + j];
  }
  return sections;
}

class Xsbench final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "xsbench"; }
  [[nodiscard]] std::string_view title() const override {
    return "Cross-sections of random materials and energies";
  }
  [[nodiscard]] std::string_view source() const override { return "XSBench: Tramm et al., PHYSOR 2014"; }
  // Numbers: grid points per nuclide, lookups.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{{"test", {37, 1000}, ""},
                                                {"paper",
                                                 {4000, 100000},
                                                 "the small problem's 68 nuclides and 12 materials; 4000 of its "
                                                 "11303 grid points a nuclide and 100 000 of its "
                                                 "17 000 000 look-ups"}};
    return sizes;
  }

  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 1; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto points = static_cast<std::int32_t>(numbers[0]);
    const auto lookups = static_cast<std::int32_t>(numbers[1]);
    const auto energies = static_cast<std::size_t>(points) * k_nuclides;
    const Arrays a{device.array<std::int32_t>("num_nucs", k_materials),
                   device.array<double>("concs", k_materials * k_max_nuclides),
                   device.array<std::int32_t>("mats", k_materials * k_max_nuclides),
                   device.array<double>("unionized_energy_array", energies),
                   device.array<std::int32_t>("index_grid", energies * k_nuclides),
                   device.array<double>("nuclide_grid", energies * k_point),
                   device.array<std::uint64_t>("verification", static_cast<std::size_t>(lookups))};
    std::mt19937 random(7);
    make_materials(a, random);
    make_grids(a, points, random);

    // Values that the threads have in registers, stored for the comparison only: the benchmark stores just which
    // cross-section is the largest.
    std::vector<Sections> found(static_cast<std::size_t>(lookups));
    const auto ends = ends_of_materials();
    const auto ctas = (lookups + k_threads - 1) / k_threads;
    device.launch({"xs_lookup_kernel_baseline", ctas, k_threads, 48}, [&](Thread& t) {
      const auto i = t.index();
      if (i < lookups) look_up(t, a, points, ends, i, found);
    });

    Comparison comparison;
    for (std::int32_t i = 0; i < lookups; ++i) {
      const auto state = (2 * static_cast<std::uint64_t>(i) + 1) * k_increment;
      const auto energy = static_cast<double>(mixed(state)) * k_unit;
      const auto roll = static_cast<double>(mixed(state + k_increment)) * k_unit;
      const auto material = std::upper_bound(ends.begin(), ends.end() - 1, roll) - ends.begin();
      const auto expected = expected_sections(a, points, energy, static_cast<std::int32_t>(material));
      for (std::int32_t k = 0; k < k_sections; ++k) comparison.add(found[i][k], expected[k]);
      const auto largest = std::ranges::max_element(expected) - expected.begin();
      comparison.add(static_cast<double>(a.verification.host()[i]), static_cast<double>(largest + 1));
    }
    return comparison.verdict("cross-sections and their largest", 1e-12);
  }

 private:
  static void look_up(Thread& t, const Arrays& a, std::int32_t points, const std::array<double, k_materials>& ends,
                      const Value<std::int32_t>& i, std::vector<Sections>& found) {
    const auto state = (Value<std::uint64_t>(i) * 2 + 1) * k_increment;
    const auto energy = Value<double>(mixed(state)) * k_unit;
    const auto roll = Value<double>(mixed(state + k_increment)) * k_unit;
    std::int32_t rolled = 0;  // counted by the comparisons
    while (rolled < k_materials - 1 && roll >= ends[rolled]) ++rolled;
    const auto material = t.own(rolled);

    auto low = t.own(0);
    auto high = t.own(k_nuclides * points - 1);
    for (auto loop = t.loop(); loop.iterate(high - low > 1);) {
      const auto middle = low + ((high - low) >> 1);
      if (t.load(a.unionized_energy_array, middle) > energy)
        high = middle;
      else
        low = middle;
    }

    const auto row = low * k_nuclides;
    const auto first = material * k_max_nuclides;
    std::array<Value<double>, k_sections> sections;
    sections.fill(t.own(0.0));
    for (const auto j : t.range(0, t.load(a.num_nucs, material))) {
      const auto nuclide = t.load(a.mats, first + j);
      const auto conc = t.load(a.concs, first + j);
      const auto index = t.load(a.index_grid, row + nuclide);
      // Constant offsets from one address, which cost nothing.
      const auto at = (fma(nuclide, points, index) * k_point).needed();
      std::array<Value<double>, k_point> below;
      std::array<Value<double>, k_point> above;
      for (std::int32_t k = 0; k < k_point; ++k) {
        below[k] = t.load(a.nuclide_grid, at + k);
        above[k] = t.load(a.nuclide_grid, at + k_point + k);
      }
      const auto part = (above[0] - energy) / (above[0] - below[0]);
      for (std::int32_t k = 0; k < k_sections; ++k)
        sections[k] = fma(fma(-part, above[k + 1] - below[k + 1], above[k + 1]), conc, sections[k]);
    }

    auto largest = t.own(0);
    for (std::int32_t k = 1; k < k_sections; ++k)
      if (sections[k] > sections[largest.needed()]) largest = t.own(k);
    t.store(a.verification, i, largest + 1);
    for (std::int32_t k = 0; k < k_sections; ++k) found[i.needed()][k] = sections[k].needed();
  }
};

}  // namespace

const GpuProgram& xsbench_program() {
  static const Xsbench program;
  return program;
}

}  // namespace terrace::gpu_sim
