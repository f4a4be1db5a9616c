// SPDX-License-Identifier: Apache-2.0
// Looks up the places of a machine file that compute, by their [place.geometry]. The Python module calls it for
// the devices of `terrace lab pim`.
#include "pim/machine/machine_geometry.hpp"

#include "core/error.hpp"

namespace terrace::pim {
namespace {

std::string names_of_devices(const machine::Machine& machine) {
  std::string names;
  for (const auto& place : machine.places())
    if (place.geometry) names += (names.empty() ? "" : ", ") + place.name;
  return names;
}

}  // namespace

PlaceId find_device(const machine::Machine& machine, const std::string& name) {
  for (std::size_t i = 0; i < machine.places().size(); ++i) {
    const auto& place = machine.places()[i];
    if (place.geometry && (name.empty() || place.name == name)) return static_cast<PlaceId>(i);
  }
  const auto devices = names_of_devices(machine);
  if (devices.empty())
    throw Error(Code::not_found, "machine '" + machine.name() +
                                     "' has no PIM place; add [place.geometry] to a [[place]] in its file");
  throw Error(Code::not_found,
              "machine '" + machine.name() + "' has no PIM place '" + name + "'; name one of: " + devices);
}

Geometry device_of(const machine::Machine& machine, const std::string& name) {
  return *machine.place(find_device(machine, name)).geometry;
}

}  // namespace terrace::pim
