// Declares the sections of pim_bench. Each compares all contenders in every round, and begins with another one
// each time.
#pragma once

#include <algorithm>
#include <vector>

#include "contenders.hpp"
#include "report.hpp"

namespace terrace::pim::bench {

struct Settings {
  int rounds = 11;
  bool quick = false;
};

// Fills a whole device with equal blocks, then frees them; each time in a process of its own (a malloc remembers).
void full_array(const Settings& settings, Report& report);
// Repeats a request and its release, in 1 to 8 threads (table 2 of MCHPC'17).
void malloc_test(const Settings& settings, Report& report);
// Allocates and releases random rectangles at 90 % occupancy.
void churn(const Settings& settings, Report& report);
// Times single requests on the example device, and a search that fails at the last place.
void micro(const Settings& settings, Report& report);

// Returns the list rotated by the round, so that each contender is first in turn.
inline std::vector<Contender> in_turn(std::vector<Contender> contenders, int round) {
  std::rotate(contenders.begin(), contenders.begin() + round % static_cast<int>(contenders.size()),
              contenders.end());
  return contenders;
}

}  // namespace terrace::pim::bench
