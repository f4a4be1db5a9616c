// SPDX-License-Identifier: Apache-2.0
// Prices the moves between places in the Lagrangian relaxation, as chains of copies, and accounts for those of a
// path. See relaxation.hpp.
#include <cstddef>
#include <cstdint>

#include "model/relaxation.hpp"

namespace terrace::model {

// Computes, for each phase and domain, the cheapest chain of copies between any two places (Floyd-Warshall).
void Relaxation::price_steps(const Multipliers& prices) {
  for (std::size_t k = 0; k < problem_.phases.size(); ++k) {
    const auto* row = &prices.row[k * rows_];
    for (std::size_t d = 0; d < places_.size(); ++d) {
      const auto& places = places_[d];
      const auto n = places.size();
      auto& [mover, program, route, untouched, hop] = steps_[k * places_.size() + d];
      mover = row[copy_row()];
      program = row[core_row()];
      route.assign(n * n, 0);
      hop.assign(n * n, 0);
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
          hop[a * n + b] = static_cast<std::uint8_t>(b);
          if (a == b) continue;
          route[a * n + b] = row[copy_row()] / problem_.copy[places[a]][places[b]] +
                             row[place_row(places[a])] / problem_.places[places[a]].read_bandwidth +
                             row[place_row(places[b])] / problem_.places[places[b]].write_bandwidth;
        }
      }
      for (std::size_t stop = 0; stop < n; ++stop) {
        for (std::size_t a = 0; a < n; ++a) {
          for (std::size_t b = 0; b < n; ++b) {
            const auto through = route[a * n + stop] + route[stop * n + b];
            if (through >= route[a * n + b]) continue;
            route[a * n + b] = through;
            hop[a * n + b] = hop[a * n + stop];
          }
        }
      }
      untouched = route;
      for (std::size_t a = 0; a < n; ++a) {
        const auto hold = prices.capacity[k * problem_.places.size() + places[a]];
        for (std::size_t b = 0; b < n; ++b) untouched[a * n + b] += hold;
      }
      if (!bundle_steps_[d].empty()) price_bundle_step(d, k, row);
    }
  }
}

// Adds the copies of the cheapest chain.
void Relaxation::add_copies(double size, std::size_t domain, std::size_t phase, std::size_t from, std::size_t to) {
  const auto& places = places_[domain];
  const auto& step = steps_[phase * places_.size() + domain];
  const auto all = problem_.places.size();
  while (from != to) {
    const auto next = step.hop[from * places.size() + to];
    moved_[(phase * all + places[from]) * all + places[next]] += size;
    from = next;
  }
}

}  // namespace terrace::model
