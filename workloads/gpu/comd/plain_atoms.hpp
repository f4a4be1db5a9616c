// Defines CoMD's atoms, and plain code for forces and steps: the reference of programs/comd.cpp on the GPU.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace terrace::gpu_sim::comd {

// Units are those of CoMD: Angstrom, eV, fs. Copper's parameters.
inline constexpr double k_lattice = 3.615;
inline constexpr double k_sigma = 2.315;
inline constexpr double k_epsilon = 0.167;
inline constexpr double k_cutoff = 2.5 * k_sigma;
inline constexpr double k_mass = 63.55 * 103.64269;  // from atomic units
inline constexpr double k_boltzmann = 8.617333e-5;
inline constexpr double k_temperature = 600;
inline constexpr double k_displacement = 0.05;
inline constexpr double k_dt = 1;

inline constexpr double k_sigma6 = k_sigma * k_sigma * k_sigma * k_sigma * k_sigma * k_sigma;
inline constexpr double k_cutoff2 = k_cutoff * k_cutoff;
inline constexpr double k_ratio6 = k_sigma6 / (k_cutoff2 * k_cutoff2 * k_cutoff2);
inline constexpr double k_shift = k_ratio6 * (k_ratio6 - 1);  // of the energy, so that it is 0 at the cutoff

using Triple = std::array<double, 3>;
using Cell = std::array<std::int32_t, 3>;

struct Atoms {
  std::vector<Triple> r;  // position
  std::vector<Triple> p;  // momentum
  std::vector<Triple> f;  // force
  std::vector<double> e;  // potential energy
};

// Size of the box and its cells.
struct Box {
  Triple length{};
  Cell cells{};
  explicit Box(const Cell& lattice) {
    for (std::size_t d = 0; d < 3; ++d) {
      length[d] = lattice[d] * k_lattice;
      cells[d] = static_cast<std::int32_t>(length[d] / k_cutoff);
    }
  }
  [[nodiscard]] std::int32_t count() const { return cells[0] * cells[1] * cells[2]; }
  [[nodiscard]] std::int32_t number(const Cell& c) const { return c[0] + cells[0] * (c[1] + cells[1] * c[2]); }
  [[nodiscard]] Cell cell(const Triple& r) const {
    Cell cell{};
    for (std::size_t d = 0; d < 3; ++d)
      cell[d] = static_cast<std::int32_t>(std::floor(r[d] / length[d] * cells[d]));
    return cell;
  }
  // Returns the inner cell that an outer cell is a copy of.
  [[nodiscard]] Cell wrapped(Cell c) const {
    for (std::size_t d = 0; d < 3; ++d) c[d] = (c[d] + cells[d]) % cells[d];
    return c;
  }
};

// Calls back with the cells from `first` up to, but not including, `end`, x first.
template <class Call>
void for_each_cell(const Cell& first, const Cell& end, Call call) {
  for (Cell c{first}; c[2] < end[2]; ++c[2])
    for (c[1] = first[1]; c[1] < end[1]; ++c[1])
      for (c[0] = first[0]; c[0] < end[0]; ++c[0]) call(c);
}

// Calls back with a cell and its 26 neighbours, itself first.
template <class Call>
void for_each_around(const Cell& c, Call call) {
  call(c);
  for_each_cell({c[0] - 1, c[1] - 1, c[2] - 1}, {c[0] + 2, c[1] + 2, c[2] + 2}, [&](const Cell& other) {
    if (other != c) call(other);
  });
}

inline Atoms make_atoms(const Cell& lattice) {
  Atoms atoms;
  std::mt19937 random(7);
  const auto unit = [&] { return (static_cast<double>(random()) + 0.5) / 4294967296.0; };
  constexpr std::array<Triple, 4> basis{{{.25, .25, .25}, {.25, .75, .75}, {.75, .25, .75}, {.75, .75, .25}}};
  for_each_cell({}, lattice, [&](const Cell& c) {
    for (const auto& b : basis) {
      auto& r = atoms.r.emplace_back();
      for (std::size_t d = 0; d < 3; ++d) r[d] = (c[d] + b[d]) * k_lattice + k_displacement * (2 * unit() - 1);
    }
  });
  // Uniform, with the variance of the temperature; the mean is subtracted.
  const auto width = std::sqrt(3 * k_mass * k_boltzmann * k_temperature);
  Triple mean{};
  for (std::size_t i = 0; i < atoms.r.size(); ++i) {
    auto& p = atoms.p.emplace_back();
    for (std::size_t d = 0; d < 3; ++d) {
      p[d] = width * (2 * unit() - 1);
      mean[d] += p[d];
    }
  }
  for (auto& p : atoms.p)
    for (std::size_t d = 0; d < 3; ++d) p[d] -= mean[d] / static_cast<double>(atoms.p.size());
  return atoms;
}

// Reference implementation: each pair once, by the nearest images, in cells of atom numbers.
inline void find_forces(const Box& box, Atoms& atoms) {
  std::vector<std::vector<std::size_t>> cells(static_cast<std::size_t>(box.count()));
  for (std::size_t i = 0; i < atoms.r.size(); ++i)
    cells[box.number(box.wrapped(box.cell(atoms.r[i])))].push_back(i);
  atoms.f.assign(atoms.r.size(), {});
  atoms.e.assign(atoms.r.size(), 0);
  for (std::size_t i = 0; i < atoms.r.size(); ++i)
    for_each_around(box.wrapped(box.cell(atoms.r[i])), [&](const Cell& c) {
      for (const auto j : cells[box.number(box.wrapped(c))]) {
        if (j <= i) continue;
        Triple apart{};
        double square = 0;
        for (std::size_t d = 0; d < 3; ++d) {
          apart[d] = atoms.r[i][d] - atoms.r[j][d];
          apart[d] -= box.length[d] * std::round(apart[d] / box.length[d]);
          square += apart[d] * apart[d];
        }
        if (square > k_cutoff2) continue;
        const auto ratio6 = std::pow(k_sigma * k_sigma / square, 3);
        const auto half_energy = 2 * k_epsilon * (ratio6 * ratio6 - ratio6 - k_shift);
        const auto force = 24 * k_epsilon * (2 * ratio6 * ratio6 - ratio6) / square;  // by distance
        atoms.e[i] += half_energy;
        atoms.e[j] += half_energy;
        for (std::size_t d = 0; d < 3; ++d) {
          atoms.f[i][d] += force * apart[d];
          atoms.f[j][d] -= force * apart[d];
        }
      }
    });
}

inline void step(const Box& box, Atoms& atoms) {
  for (std::size_t i = 0; i < atoms.r.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d) {
      atoms.p[i][d] += k_dt / 2 * atoms.f[i][d];
      atoms.r[i][d] += k_dt * atoms.p[i][d] / k_mass;
    }
  find_forces(box, atoms);
  for (std::size_t i = 0; i < atoms.r.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d) atoms.p[i][d] += k_dt / 2 * atoms.f[i][d];
}

}  // namespace terrace::gpu_sim::comd
