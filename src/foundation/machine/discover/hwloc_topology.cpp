// SPDX-License-Identifier: Apache-2.0
// Queries hwloc for the discovery of machines, and hides its conventions (return codes, object depths, memory
// objects). See hwloc_topology.hpp.
#include "machine/discover/hwloc_topology.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.hpp"

namespace terrace::machine {

namespace {

// Sets an environment variable for its lifetime, unless the user has set it.
class ScopedEnvironmentVariable {
 public:
  ScopedEnvironmentVariable(const char* name, const char* value)
      : name_(name), is_ours_(std::getenv(name) == nullptr && setenv(name, value, 0) == 0) {}
  ~ScopedEnvironmentVariable() {
    if (is_ours_) unsetenv(name_);
  }
  ScopedEnvironmentVariable(const ScopedEnvironmentVariable&) = delete;
  ScopedEnvironmentVariable& operator=(const ScopedEnvironmentVariable&) = delete;

 private:
  const char* name_;
  bool is_ours_;
};

}  // namespace

HwlocTopology::Handle HwlocTopology::make() {
  // Disable hwloc's plugins for graphics cards, buses and libxml: they are not needed, and loading their libraries
  // takes as long as all other discovery.
  const ScopedEnvironmentVariable without_plugins("HWLOC_PLUGINS_PATH", "/dev/null");
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw Error(Code::unsupported, "hwloc cannot be initialised; name a machine file with --machine");
  return Handle(raw);
}

HwlocTopology HwlocTopology::of_this_machine() {
  const ScopedEnvironmentVariable silent("HWLOC_HIDE_ERRORS", "2");  // missing information is not an error
  auto topology = make();
  // If the kernel reports caches, skip the x86 backend, which queries each processor in turn.
  if (access("/sys/devices/system/cpu/cpu0/cache/index0/size", R_OK) == 0)
    hwloc_topology_set_components(topology.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  if (hwloc_topology_load(topology.get()) != 0) {
    throw Error(Code::unsupported, "hwloc cannot discover this machine; name a machine file with --machine");
  }
  return HwlocTopology(std::move(topology));
}

HwlocTopology HwlocTopology::from_xml(std::string_view xml) {
  auto topology = make();
  const std::string text(xml);  // hwloc counts the terminating zero
  if (hwloc_topology_set_xmlbuffer(topology.get(), text.c_str(), static_cast<int>(text.size()) + 1) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    throw Error(Code::invalid, "this is not a machine as hwloc saves it; write one with `lstopo machine.xml`");
  }
  return HwlocTopology(std::move(topology));
}

std::vector<hwloc_obj_t> HwlocTopology::objects(hwloc_obj_type_t type) const {
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(get(), type, object)) != nullptr;) {
    found.push_back(object);
  }
  return found;
}

std::vector<hwloc_obj_t> HwlocTopology::objects_within(hwloc_obj_type_t type, hwloc_const_cpuset_t set) const {
  auto found = objects(type);
  std::erase_if(found, [&](hwloc_obj_t object) {
    return object->cpuset == nullptr || hwloc_bitmap_iszero(object->cpuset) != 0 ||
           hwloc_bitmap_isincluded(object->cpuset, set) == 0;
  });
  return found;
}

std::optional<double> HwlocTopology::attribute(hwloc_memattr_id_t id, hwloc_obj_t node,
                                               hwloc_cpuset_t from) const {
  hwloc_location initiator{};
  initiator.type = HWLOC_LOCATION_TYPE_CPUSET;
  initiator.location.cpuset = from;
  hwloc_uint64_t value = 0;
  if (hwloc_memattr_get_value(get(), id, node, &initiator, 0, &value) != 0 || value == 0) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> HwlocTopology::distance(hwloc_obj_t from, hwloc_obj_t to) const {
  hwloc_distances_s* table = nullptr;
  unsigned count = 1;
  if (hwloc_distances_get_by_name(get(), "NUMALatency", &count, &table, 0) != 0 || count == 0) return std::nullopt;
  std::optional<double> value;
  const int i = hwloc_distances_obj_index(table, from);
  const int j = hwloc_distances_obj_index(table, to);
  if (i >= 0 && j >= 0) {
    value =
        static_cast<double>(table->values[static_cast<unsigned>(i) * table->nbobjs + static_cast<unsigned>(j)]);
  }
  hwloc_distances_release(get(), table);
  return value;
}

std::string HwlocTopology::info(hwloc_obj_t object, const char* key) {
  const char* value = hwloc_obj_get_info_by_name(object, key);
  return value == nullptr ? "" : value;
}

// Searches the kinds of cores (such as performance and efficiency cores) that hwloc reports.
double HwlocTopology::frequency(hwloc_const_cpuset_t set) const {
  double best = 0;
  const int kinds = hwloc_cpukinds_get_nr(get(), 0);
  for (int kind = 0; kind < kinds; ++kind) {
    const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> cores(hwloc_bitmap_alloc(), hwloc_bitmap_free);
    unsigned count = 0;
    hwloc_info_s* infos = nullptr;
    int efficiency = 0;
    if (hwloc_cpukinds_get_info(get(), static_cast<unsigned>(kind), cores.get(), &efficiency, &count, &infos, 0) !=
            0 ||
        hwloc_bitmap_intersects(cores.get(), set) == 0) {
      continue;
    }
    for (unsigned i = 0; i < count; ++i) {
      const std::string_view name = infos[i].name;
      if (name == "FrequencyMaxMHz" || name == "FrequencyBaseMHz") {
        best = std::max(best, 1e6 * std::strtod(infos[i].value, nullptr));
      }
    }
  }
  return best;
}

}  // namespace terrace::machine
