// SPDX-License-Identifier: Apache-2.0
// Stores the machine in tables of its own, so that a store is self-contained for reports.
#include "core/blob.hpp"
#include "machine/machine.hpp"
#include "profile/store/store_rows.hpp"

namespace terrace::profile {
namespace {

void add_tree(Database& database, std::int64_t id, const machine::Machine& machine) {
  Statement node(database, "INSERT INTO node VALUES(?, ?, ?, ?, ?)");
  std::int64_t number = 0;
  for (const auto& n : machine.nodes()) node.run(id, number++, n.parent, n.name, n.place);
  Statement place(database, "INSERT INTO place VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  number = 0;
  for (const auto& p : machine.places()) {
    place.run(id, number++, p.name, p.kind, p.capacity, p.granule, p.domain, p.numa_node);
  }
}

void add_initiators(Database& database, std::int64_t id, const machine::Machine& machine) {
  Statement initiator(database, "INSERT INTO initiator VALUES(?, ?, ?, ?, ?, ?, ?)");
  Statement cache(database, "INSERT INTO cache VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  std::int64_t number = 0;
  for (const auto& i : machine.initiators()) {
    initiator.run(id, number, i.name, i.cores, i.frequency_hz, i.instruction_time, i.domain);
    std::int64_t level = 0;
    for (const auto& c : i.caches) cache.run(id, number, level++, c.name, c.size, c.ways, c.shared, c.latency);
    ++number;
  }
  Statement domain(database, "INSERT INTO domain VALUES(?, ?, ?, ?, ?)");
  number = 0;
  for (const auto& d : machine.domains()) {
    domain.run(id, number, d.name, d.initiator, machine.home(static_cast<DomainId>(number)));
    ++number;
  }
}

void add_paths(Database& database, std::int64_t id, const machine::Machine& machine) {
  Statement path(database, "INSERT INTO path VALUES(?, ?, ?, ?, ?, ?)");
  for (const auto& p : machine.parts().paths) path.run(id, p.initiator, p.place, p.read, p.write, p.latency);
  Statement copy(database, "INSERT INTO copy VALUES(?, ?, ?, ?)");
  const auto count = static_cast<PlaceId>(machine.places().size());
  for (PlaceId from = 0; from < count; ++from) {
    for (PlaceId to = 0; to < count; ++to) {
      if (from != to) copy.run(id, from, to, machine.copy_bandwidth(from, to));
    }
  }
}

}  // namespace

std::int64_t add_machine(Database& database, const std::string& blob) {
  const std::span bytes(reinterpret_cast<const std::byte*>(blob.data()), blob.size());
  Statement known(database, "SELECT id FROM machine WHERE blob = ?");
  known.bind_all(bytes);
  if (known.step()) return known.integer(0);

  BlobReader in(bytes);
  const auto machine = machine::Machine::from_blob(in);
  const auto& parts = machine.parts();
  Statement insert(database, "INSERT INTO machine VALUES(NULL, ?, ?, ?, ?, ?, ?)");
  insert.run(parts.name, parts.description, parts.fingerprint, parts.line, machine.copier().name, bytes);
  const auto id = database.last_row();
  add_tree(database, id, machine);
  add_initiators(database, id, machine);
  add_paths(database, id, machine);
  return id;
}

}  // namespace terrace::profile
