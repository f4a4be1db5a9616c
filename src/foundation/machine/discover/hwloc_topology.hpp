// SPDX-License-Identifier: Apache-2.0
// Owns an hwloc topology and answers the queries of machine discovery (discovery.cpp).
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
  // Returns the objects of the type whose processing units are all in the set.
  [[nodiscard]] std::vector<hwloc_obj_t> objects_within(hwloc_obj_type_t type, hwloc_const_cpuset_t set) const;
  // Returns a memory attribute of a node as seen by the processing units of the set, in hwloc's unit (MiB/s, ns).
  [[nodiscard]] std::optional<double> attribute(hwloc_memattr_id_t id, hwloc_obj_t node,
                                                hwloc_cpuset_t from) const;
  // Returns the NUMA distance between two nodes, 10 for a node to itself; nothing if the system has no table.
  [[nodiscard]] std::optional<double> distance(hwloc_obj_t from, hwloc_obj_t to) const;
  // Returns the value of a key attached to an object, or "".
  static std::string info(hwloc_obj_t object, const char* key);
  // Returns the highest known frequency of the set's cores in Hz, or 0.
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
