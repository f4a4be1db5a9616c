// SPDX-License-Identifier: Apache-2.0
// Defines integer identifiers by which all modules refer to places, initiators, domains, chunks, objects and
// phases. Names are used only in files and messages.
#pragma once

#include <cstdint>

namespace terrace {

using PlaceId = std::uint16_t;      // index into Machine::places()
using InitiatorId = std::uint16_t;  // index into Machine::initiators()
using DomainId = std::uint16_t;     // index into Machine::domains()
using ChunkId = std::uint32_t;      // in order of creation, over all objects
using ObjectId = std::uint32_t;     // in order of creation
using PhaseIndex = std::uint32_t;   // position in the iteration's sequence of phases

inline constexpr PlaceId k_no_place = 0xffff;

}  // namespace terrace
