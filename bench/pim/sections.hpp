// The parts of the benchmark. Each compares all contenders in every round, the first one another each time.
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

// A whole device in equal blocks, then freed; each time in a process of its own (a malloc remembers).
void full_array(const Settings& settings, Report& report);
// A request and its release over and over, in 1 to 8 threads (table 2 of the paper).
void malloc_test(const Settings& settings, Report& report);
// Random rectangles come and go at 90 % occupancy.
void churn(const Settings& settings, Report& report);
// Single requests on the example device, and a search that fails at the last place.
void micro(const Settings& settings, Report& report);

// The list, begun with another one each round.
inline std::vector<Contender> in_turn(std::vector<Contender> contenders, int round) {
  std::rotate(contenders.begin(), contenders.begin() + round % static_cast<int>(contenders.size()),
              contenders.end());
  return contenders;
}

}  // namespace terrace::pim::bench
