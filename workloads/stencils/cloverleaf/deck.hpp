// Lists published input decks of CloverLeaf: size, initial states, end criterion, and the final kinetic energy.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs::cloverleaf {

using Vector = std::array<double, k_max_dims>;

// Result of a published run.
struct Published {
  double kinetic = 0;
  bool is_held = false;  // compared to k_allowed; not after 2955 steps, which amplify rounding differences
};
inline constexpr double k_allowed = 1e-10;

struct Deck {
  std::string_view name;
  Point cells{1, 1, 1};
  Vector box{1, 1, 1};
  Vector dense{1, 1, 1};  // the box at the origin with the dense state
  double dt_init = 0;
  double t_end = 10;
  std::int64_t end_step = 640000;
  Published published{};
};

// Density and energy of the background and of the dense box; all velocities are 0.
struct State {
  double density = 0;
  double energy = 0;
};
inline constexpr State k_background{0.2, 1.0};
inline constexpr State k_dense{1.0, 2.5};

// A published run of a deck with another size and number of steps.
struct OtherRun {
  std::string_view deck;
  Point cells{1, 1, 1};
  std::int64_t steps = 0;
  Published published{};
};

// Limits of the time step.
struct Safety {
  double growth = 0;  // maximum growth between steps
  double sound = 0;
  double velocity = 0;
  double divergence = 0;
};

// A deck and the user's changes to it.
struct Problem {
  Deck deck;
  Safety safety;
  std::int64_t summary = 10;  // steps between field summaries
  Published published{};
  double dt_min = 1e-7;

  // Returns whether a run is over.
  [[nodiscard]] bool is_over(double t, std::int64_t step) const {
    constexpr double k_small = 1e-16;
    return t + k_small > deck.t_end || step >= deck.end_step;
  }
};

// Parses "960x960" to a point.
[[nodiscard]] inline Point parse_cells(const std::string& text, std::size_t dims) {
  Point cells{1, 1, 1};
  const auto* at = text.data();
  const auto* const end = text.data() + text.size();
  for (std::size_t d = 0; d < dims; ++d) {
    const auto [next, error] = std::from_chars(at, end, cells[d]);
    const auto is_last = d + 1 == dims;
    // The halo mirrors two cells.
    if (error != std::errc{} || cells[d] < 2 || (is_last ? next != end : next == end || *next != 'x'))
      throw Error(Code::invalid, "cells=" + text + ": " + std::to_string(dims) +
                                     " numbers of cells from 2 on are needed, with x between them");
    at = next + (is_last ? 0 : 1);
  }
  return cells;
}

// Returns the problem of the arguments `problem`, `cells`, `steps` and `summary`.
[[nodiscard]] inline Problem make_problem(Arguments& arguments, std::size_t dims, std::span<const Deck> decks,
                                          const OtherRun& other, const Safety& safety) {
  const auto name = arguments.text("problem", "tp1");
  const auto cells = arguments.text("cells", "");
  const auto steps = arguments.number("steps", 0, 1);
  Problem problem;
  problem.safety = safety;
  problem.summary = arguments.number("summary", 10, 0);
  arguments.refuse_others();
  const auto deck = std::ranges::find(decks, std::string_view(name), &Deck::name);
  if (deck == decks.end())
    throw Error(Code::invalid, "problem=" + name + ": there is no such problem; there are tp1 to tp" +
                                   std::to_string(decks.size()));
  problem.deck = *deck;
  if (!cells.empty()) problem.deck.cells = parse_cells(cells, dims);
  if (steps > 0) {
    problem.deck.end_step = steps;
    problem.deck.t_end = std::numeric_limits<double>::infinity();
  }
  if (problem.deck.cells == deck->cells && steps == 0)
    problem.published = deck->published;
  else if (deck->name == other.deck && problem.deck.cells == other.cells && steps == other.steps)
    problem.published = other.published;
  return problem;
}

}  // namespace terrace::stencil::programs::cloverleaf
