// SPDX-License-Identifier: Apache-2.0
// The devices of a machine's places that compute.
#pragma once

#include <optional>
#include <string>

#include "machine/machine.hpp"
#include "pim/geometry.hpp"

namespace terrace::pim {

// The place `name`, or, for an empty name, the first that computes. Throws Error{not_found} naming those that
// there are.
PlaceId find_device(const machine::Machine& machine, const std::string& name = "");
Geometry device_of(const machine::Machine& machine, const std::string& name = "");

}  // namespace terrace::pim
