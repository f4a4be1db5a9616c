// Fits what a plan keeps away from home into a budget. A plan that was made for other sizes may want more of a
// place than there is: what is worth least for its bytes then stays at home.
#pragma once

#include <vector>

#include "machine/machine.hpp"

namespace terrace::strategy {

struct PlannedChunk {  // a chunk that the plan has away from home
  Bytes size;
  Seconds worth;  // an iteration
  PlaceId place = 0;
};

// Which of them stay at home, so that no place holds more than its budget: by worth for a byte, the first ones
// first where it is equal, each that still fits is let in.
std::vector<bool> chunks_over_budget(const std::vector<PlannedChunk>& away, machine::Budget budget);

}  // namespace terrace::strategy
