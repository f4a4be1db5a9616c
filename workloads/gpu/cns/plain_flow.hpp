// Implements CNS's equations as plain code, the reference for the results of programs/cns.cpp on the emulated GPU.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace terrace::gpu_sim::cns {

inline constexpr std::int32_t k_ghosts = 4;
inline constexpr std::int32_t k_conserved = 5;
inline constexpr std::int32_t k_pressure = 4;  // in Q
inline constexpr std::int32_t k_temperature = 5;
inline constexpr std::int32_t k_energy = 4;  // in U, F and D

// Weights of the points at distances 1 to 4 on both sides; for the second derivative, of the point itself first.
inline constexpr std::array<double, 4> k_first{4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
inline constexpr std::array<double, 5> k_second{-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
// Weights of the state before a step and of the latest one, by stage.
inline constexpr std::array<std::array<double, 2>, 3> k_stages{{{0, 1}, {3.0 / 4, 1.0 / 4}, {1.0 / 3, 2.0 / 3}}};
// The benchmark's gas and cube, in cm, g, s and K.
inline constexpr double k_gamma = 1.4;
inline constexpr double k_heat = 8.3333333333e6;  // capacity at constant volume
inline constexpr double k_viscosity = 1.8e-4;
inline constexpr double k_conductivity = 1.5e2;
inline constexpr double k_length = 0.2;
inline constexpr double k_fastest = 5e4;  // speed of sound in the flow; the benchmark computes it in each step

using Field = std::vector<double>;
using Extent = std::array<std::int32_t, 3>;  // in x, y, z

// A cube of points, with or without ghosts.
struct Cube {
  std::int32_t n;
  [[nodiscard]] double scale() const { return n / k_length; }  // points by length
  [[nodiscard]] std::int32_t volume() const { return n * n * n; }
  [[nodiscard]] std::size_t size(std::int32_t fields) const { return static_cast<std::size_t>(volume()) * fields; }
  [[nodiscard]] std::int32_t stride(std::size_t x) const { return x == 0 ? 1 : x == 1 ? n : n * n; }
  [[nodiscard]] std::int32_t tiles(std::int32_t size) const { return (n + size - 1) / size; }
};

inline std::vector<Field> first_state(const Cube& cube) {
  constexpr std::array<double, k_conserved> mean{1e-3, 0, 0, 0, 2.5e6};
  constexpr std::array<double, k_conserved> height{1e-5, 11, 10, 12, 1e4};
  const auto turn = 2 * std::numbers::pi / cube.n;
  const auto wave = [&](double times, std::int32_t i) { return std::sin(times * (1 + turn * (i % cube.n))); };
  std::vector<Field> u(k_conserved, Field(cube.size(1)));
  for (std::int32_t c = 0; c < k_conserved; ++c)
    for (std::int32_t i = 0; i < cube.volume(); ++i)
      u[c][i] = mean[c] + height[c] * wave(c % 3 + 1, i) * wave(c % 4 + 1, i / cube.n) *
                              wave(3 - c % 3, i / cube.n / cube.n);
  return u;
}

// The reference implementation: fields without ghosts, indices modulo their size, each derivative of a whole
// field.
struct PlainFlow {
  Cube cube;
  std::vector<Field> u;
  std::vector<Field> f{}, d{};
  [[nodiscard]] Field derivative(std::int32_t order, const Field& field, std::size_t direction) const {
    const auto stride = cube.stride(direction);
    Field result(field.size());
    for (std::int32_t i = 0; i < cube.volume(); ++i) {
      const auto x = i / stride % cube.n;
      double sum = order == 2 ? k_second[0] * field[i] : 0;
      for (std::int32_t k = 1; k <= k_ghosts; ++k) {
        const auto above = field[i + ((x + k) % cube.n - x) * stride];
        const auto below = field[i + ((x - k + cube.n) % cube.n - x) * stride];
        sum += order == 2 ? k_second[k] * (above + below) : k_first[k - 1] * (above - below);
      }
      result[i] = sum * std::pow(cube.scale(), order);
    }
    return result;
  }
  static void add(Field& to, double factor, const Field& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
  }
  void find_terms() {
    std::vector<Field> q(6, u[0]);
    for (std::size_t i = 0; i < u[0].size(); ++i) {
      double square = 0;
      for (std::size_t v = 1; v <= 3; ++v) square += std::pow(q[v][i] = u[v][i] / u[0][i], 2);
      q[k_pressure][i] = (k_gamma - 1) * (u[k_energy][i] - u[0][i] * square / 2);
      q[k_temperature][i] = q[k_pressure][i] / (u[0][i] * (k_gamma - 1) * k_heat);
    }
    f.assign(k_conserved, Field(u[0].size()));
    d = f;
    std::array<std::array<Field, 3>, 3> slope;  // of velocity v in direction x
    for (std::size_t v = 0; v < 3; ++v)
      for (std::size_t x = 0; x < 3; ++x) slope[v][x] = derivative(1, q[v + 1], x);
    for (std::size_t x = 0; x < 3; ++x) {
      for (std::size_t c = 0; c < u.size(); ++c) {
        auto flux = u[c];
        if (c == k_energy) add(flux, 1, q[k_pressure]);
        for (std::size_t i = 0; i < flux.size(); ++i) flux[i] *= q[x + 1][i];
        if (c == x + 1) add(flux, 1, q[k_pressure]);
        add(f[c], -1, derivative(1, flux, x));
      }
      for (std::size_t v = 0; v < 3; ++v) {
        add(d[v + 1], k_viscosity * (v == x ? 4.0 / 3 : 1.0), derivative(2, q[v + 1], x));
        if (v != x) add(d[v + 1], k_viscosity / 3, derivative(1, slope[x][x], v));
      }
      add(d[k_energy], k_conductivity, derivative(2, q[k_temperature], x));
    }
    for (std::size_t i = 0; i < u[0].size(); ++i) {
      double work = -2.0 / 3 * std::pow(slope[0][0][i] + slope[1][1][i] + slope[2][2][i], 2);
      for (std::size_t v = 0; v < 3; ++v) {
        for (std::size_t x = 0; x < 3; ++x) work += std::pow(slope[v][x][i] + slope[x][v][i], 2) / 2;
        d[k_energy][i] += q[v + 1][i] * d[v + 1][i];
      }
      d[k_energy][i] += k_viscosity * work;
    }
  }
  void step(double dt) {
    const auto start = u;
    for (const auto& [old, now] : k_stages) {
      find_terms();
      for (std::size_t c = 0; c < u.size(); ++c)
        for (std::size_t i = 0; i < u[c].size(); ++i)
          u[c][i] = old * start[c][i] + now * (u[c][i] + dt * (f[c][i] + d[c][i]));
    }
  }
};

}  // namespace terrace::gpu_sim::cns
