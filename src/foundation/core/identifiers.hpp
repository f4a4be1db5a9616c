// The numbers by which rooms speak of one another's things. Names are for files and people.
#pragma once

#include <cstdint>

namespace terrace {

using PlaceId = std::uint16_t;      // index into Machine::places()
using InitiatorId = std::uint16_t;  // index into Machine::initiators()
using DomainId = std::uint16_t;     // index into Machine::domains()
using ChunkId = std::uint32_t;      // in the order in which chunks were made, over all objects
using ObjectId = std::uint32_t;     // in the order in which objects were made
using PhaseIndex = std::uint32_t;   // position in the iteration's sequence of phases

inline constexpr PlaceId k_no_place = 0xffff;

}  // namespace terrace
