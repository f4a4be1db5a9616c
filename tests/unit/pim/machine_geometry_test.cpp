// Tests the conversion of a machine's places to PIM devices.
#include "pim/machine/machine_geometry.hpp"

#include <gtest/gtest.h>

#include "../machine/example.hpp"
#include "core/error.hpp"

namespace terrace::pim {
namespace {

std::string complaint(const machine::Machine& machine, const std::string& name) {
  try {
    static_cast<void>(device_of(machine, name));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    return error.what();
  }
  return "";
}

TEST(MachineGeometry, PimPlace_GivesGeometryOfItsCapacity) {
  auto parts = machine::example_parts();
  machine::set_geometry(parts, 3);
  const machine::Machine machine(parts);
  for (const auto* name : {"", "hbm1"}) {
    EXPECT_EQ(find_device(machine, name), 3);
    const auto geometry = device_of(machine, name);
    EXPECT_EQ(geometry, (Geometry{.rows = 1024, .columns = 131072, .subarrays = 16, .banks = 8, .devices = 2}));
    EXPECT_EQ(geometry.capacity(), machine.place(3).capacity);
  }
}

TEST(MachineGeometry, UnknownPlace_NamesPimPlaces) {
  auto parts = machine::example_parts();
  EXPECT_EQ(complaint(machine::Machine(parts), ""),
            "machine 'example' has no PIM place; add [place.geometry] to a [[place]] in its file");
  machine::set_geometry(parts, 0);
  machine::set_geometry(parts, 3);
  EXPECT_EQ(complaint(machine::Machine(parts), "ddr0"),
            "machine 'example' has no PIM place 'ddr0'; name one of: hbm0, hbm1");
}

}  // namespace
}  // namespace terrace::pim
