// SPDX-License-Identifier: Apache-2.0
// Finds the places of a machine that compute (processing-in-memory devices). The Python module calls it for the
// devices of `terrace lab pim`.
#pragma once

#include <optional>
#include <string>

#include "machine/machine.hpp"
#include "pim/geometry.hpp"

namespace terrace::pim {

// Return the place `name` or, for an empty name, the first that computes, and its geometry. Throw
// Error{not_found}, which lists the known places.
PlaceId find_device(const machine::Machine& machine, const std::string& name = "");
Geometry device_of(const machine::Machine& machine, const std::string& name = "");

}  // namespace terrace::pim
