// SPDX-License-Identifier: Apache-2.0
// Reads the main loop of a profile's longest process. See loop_summary.hpp.
#include "cli/loop_summary.hpp"

#include "profile/store/store_database.hpp"

namespace terrace::cli {

LoopSummary read_longest_loop(const std::string& path) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(
      database,
      "SELECT run.program, run.planner, run.backend, COALESCE(SUM(loop.ended - loop.begun), 0) AS t,"
      " COALESCE(SUM(loop.iterations), 0), COALESCE(SUM(loop.observed), 0),"
      " (SELECT COUNT(*) FROM move WHERE move.run = run.id AND NOT refused),"
      " (SELECT COALESCE(SUM(size), 0) FROM move WHERE move.run = run.id AND NOT refused),"
      " (SELECT time_share FROM coverage WHERE coverage.run = run.id),"
      " (SELECT time_at_least FROM coverage WHERE coverage.run = run.id),"
      " (SELECT heap_uncovered / heap FROM coverage WHERE coverage.run = run.id),"
      " (SELECT heap_uncovered FROM coverage WHERE coverage.run = run.id),"
      " (SELECT instruction_time FROM initiator i WHERE i.machine = run.machine AND i.id = run.initiator),"
      " COALESCE(core_time_fitted, 0), run.id, COALESCE(core_time_from, ''),"
      " COALESCE(SUM(loop.turns_before), 0), COALESCE(MAX(loop.why LIKE '%estimated%'), 0)"
      " FROM run LEFT JOIN main_loop AS loop ON loop.run = run.id GROUP BY run.id"
      " ORDER BY t DESC, (SELECT COUNT(*) FROM note WHERE note.run = run.id AND text LIKE 'no access was seen%'),"
      " (SELECT samples FROM coverage WHERE coverage.run = run.id) DESC LIMIT 1");
  LoopSummary summary;
  query.bind_all();
  if (!query.step()) return summary;
  summary.before = query.integer(16);
  summary.is_estimate = query.integer(17) != 0;
  summary.program = query.text(0);
  summary.planner = query.text(1);
  summary.backend = query.text(2);
  summary.loop = query.real(3);
  summary.iterations = query.integer(4);
  summary.observed = query.integer(5);
  summary.moves = query.integer(6);
  summary.moved = query.integer(7);
  summary.time_share = query.real(8);
  summary.time_at_least = query.real(9);
  summary.heap_share = query.real(10);
  summary.heap_uncovered = query.real(11);
  summary.instruction_time = query.real(12);
  summary.core_time_fitted = query.integer(13) != 0;
  summary.core_time_from = query.text(15);
  summary.run = query.integer(14);
  profile::Statement phases(database,
                            "SELECT phase, instruction_time FROM core_time WHERE run = ? ORDER BY phase");
  phases.bind_all(query.integer(14));
  while (phases.step()) summary.core_times.emplace_back(phases.text(0), phases.real(1));
  return summary;
}

}  // namespace terrace::cli
