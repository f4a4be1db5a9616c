// SPDX-License-Identifier: Apache-2.0
// Reads refused moves, plans and notes from a profile. See no_moves_reason.hpp.
#include "cli/no_moves_reason.hpp"

#include <fmt/format.h>

#include "profile/store/store_database.hpp"

namespace terrace::cli {

namespace {

// Prefix of the note that a planner writes if it produced no plan.
const std::string k_no_plan = "no plan was made, data stays where it is: ";

// Returns whether all objects that can be moved, which excludes stacks and small blocks, are in the place.
bool resides_in(profile::Database& database, std::int64_t run, const std::string& name) {
  profile::Statement query(
      database,
      "SELECT COUNT(*), COALESCE(SUM(place.name = ?2), 0) FROM object JOIN object_place AS part ON"
      " part.run = object.run AND part.object = object.id JOIN run ON run.id = object.run"
      " JOIN place ON place.machine = run.machine AND place.id = part.place"
      " WHERE run.id = ?1 AND object.kind IN ('heap', 'mapping', 'fixed', 'common')");
  query.bind_all(run, name);
  return query.step() && query.integer(0) > 0 && query.integer(0) == query.integer(1);
}

}  // namespace

std::string reason_for_no_moves(const std::string& path, std::int64_t run, const std::string& fastest) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(database,
                           "SELECT (SELECT COUNT(*) FROM move WHERE run = ?1 AND refused),"
                           " (SELECT COUNT(*) FROM plan WHERE run = ?1),"
                           " (SELECT text FROM note WHERE run = ?1 AND text LIKE ?2 || '%')");
  query.bind_all(run, k_no_plan);
  if (!query.step()) return {};
  if (const auto refused = query.integer(0); refused > 0)
    return fmt::format("the system refused {} {}", refused, refused == 1 ? "move" : "moves");
  if (resides_in(database, run, fastest)) return fmt::format("its data resides in {} already", fastest);
  if (query.integer(1) > 0) return "no plan gains more than its moves cost";
  if (const auto said = query.text(2); !said.empty()) return said.substr(k_no_plan.size());
  return "it ended before enough was learned for a plan";
}

}  // namespace terrace::cli
