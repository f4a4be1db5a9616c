// Fits what a plan wants into a budget. A plan that was made for other sizes may want more of a place than there
// is: what is worth least for its bytes then stays at home.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::placement {

struct Stay {  // in phases [from, until) of the iteration, across its end where until <= from
  machine::PlaceId place = 0;
  std::uint32_t from = 0;
  std::uint32_t until = 0;
};

struct Guest {  // a chunk that the plan has away from home, now and then or always
  Bytes size;
  Seconds worth;  // an iteration
  std::vector<Stay> stays;
};

// Which of them stay at home, so that no place holds more than its budget in any of the phases: by worth for a
// byte, the first ones first where it is equal, each that still fits is let in.
std::vector<bool> left_out(const std::vector<Guest>& guests, const machine::Budget& budget, std::uint32_t phases);

}  // namespace terrace::placement
