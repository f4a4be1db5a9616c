// hwloc's topology with a lifetime, and the few questions that discovery asks it.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::machine {

class HwlocTopology {
 public:
  static HwlocTopology of_this_machine();               // throws Error{unsupported}
  static HwlocTopology from_xml(std::string_view xml);  // throws Error{invalid}

  [[nodiscard]] hwloc_topology_t get() const { return topology_.get(); }
  [[nodiscard]] bool is_this_system() const { return hwloc_topology_is_thissystem(get()) != 0; }
  [[nodiscard]] std::vector<hwloc_obj_t> objects(hwloc_obj_type_t type) const;
  // Those of the type whose processing units all are in the set.
  [[nodiscard]] std::vector<hwloc_obj_t> objects_within(hwloc_obj_type_t type, hwloc_const_cpuset_t set) const;
  // A memory attribute of a node as the set's processing units see it, in hwloc's unit (MiB/s, ns).
  [[nodiscard]] std::optional<double> attribute(hwloc_memattr_id_t id, hwloc_obj_t node,
                                                hwloc_cpuset_t from) const;
  // The system's relative distance between two nodes, 10 for a node to itself; nothing where it has no table.
  [[nodiscard]] std::optional<double> distance(hwloc_obj_t from, hwloc_obj_t to) const;
  // A key/value pair attached to an object, "" when absent.
  static std::string info(hwloc_obj_t object, const char* key);
  // The highest frequency that hwloc knows of a set's cores in Hz, 0 when it knows none.
  [[nodiscard]] double frequency(hwloc_const_cpuset_t set) const;

 private:
  struct Destroy {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  };
  using Handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;
  explicit HwlocTopology(Handle topology) : topology_(std::move(topology)) {}
  static Handle make();

  Handle topology_;
};

}  // namespace terrace::machine
