// SPDX-License-Identifier: Apache-2.0
// Defines the SQL tables of a profile store, which the merge creates in a new file. See store_schema.hpp.
#include "profile/store/store_schema.hpp"

namespace terrace::profile {

// Units: seconds since the process's start, bytes, bytes per second. A cell refers to a profiled iteration; a run
// may have a sampled and an exact one for the same iteration of the loop.
const char* const k_store_schema = R"sql(
CREATE TABLE machine(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, fingerprint TEXT NOT NULL,
  line INTEGER NOT NULL, copier TEXT NOT NULL, blob BLOB NOT NULL UNIQUE);
CREATE TABLE node(
  machine INTEGER NOT NULL REFERENCES machine(id), id INTEGER NOT NULL, parent INTEGER, name TEXT NOT NULL,
  place INTEGER, PRIMARY KEY(machine, id)) WITHOUT ROWID;
CREATE TABLE place(
  machine INTEGER NOT NULL REFERENCES machine(id), id INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
  capacity INTEGER NOT NULL, granule INTEGER NOT NULL, domain INTEGER NOT NULL, numa_node INTEGER NOT NULL,
  PRIMARY KEY(machine, id)) WITHOUT ROWID;
CREATE TABLE initiator(
  machine INTEGER NOT NULL REFERENCES machine(id), id INTEGER NOT NULL, name TEXT NOT NULL,
  cores INTEGER NOT NULL, frequency_hz REAL NOT NULL, instruction_time REAL NOT NULL, domain INTEGER NOT NULL,
  PRIMARY KEY(machine, id)) WITHOUT ROWID;
CREATE TABLE cache(
  machine INTEGER NOT NULL REFERENCES machine(id), initiator INTEGER NOT NULL, level INTEGER NOT NULL,
  name TEXT NOT NULL, size INTEGER NOT NULL, ways INTEGER NOT NULL, shared INTEGER NOT NULL,
  latency REAL NOT NULL, PRIMARY KEY(machine, initiator, level)) WITHOUT ROWID;
CREATE TABLE domain(
  machine INTEGER NOT NULL REFERENCES machine(id), id INTEGER NOT NULL, name TEXT NOT NULL,
  initiator INTEGER NOT NULL, home INTEGER NOT NULL, PRIMARY KEY(machine, id)) WITHOUT ROWID;
CREATE TABLE path(
  machine INTEGER NOT NULL REFERENCES machine(id), initiator INTEGER NOT NULL, place INTEGER NOT NULL,
  read REAL NOT NULL, write REAL NOT NULL, latency REAL NOT NULL,
  PRIMARY KEY(machine, initiator, place)) WITHOUT ROWID;
CREATE TABLE copy(
  machine INTEGER NOT NULL REFERENCES machine(id), source INTEGER NOT NULL, target INTEGER NOT NULL,
  bandwidth REAL NOT NULL, PRIMARY KEY(machine, source, target)) WITHOUT ROWID;

CREATE TABLE run(
  id INTEGER PRIMARY KEY, journal TEXT NOT NULL, process INTEGER NOT NULL, parent INTEGER NOT NULL,
  started_unix_ns INTEGER NOT NULL, host TEXT NOT NULL, program TEXT NOT NULL, arguments TEXT NOT NULL,
  backend TEXT NOT NULL, mode TEXT NOT NULL, planner TEXT NOT NULL, budget TEXT NOT NULL,
  initiator INTEGER NOT NULL, cores REAL NOT NULL, sample_interval REAL NOT NULL, core_time_fitted INTEGER,
  core_time_from TEXT, progress TEXT,
  machine INTEGER REFERENCES machine(id), calibration BLOB, ended REAL, how TEXT, whole INTEGER NOT NULL,
  rank INTEGER, ranks INTEGER, job TEXT);
CREATE TABLE object(
  run INTEGER NOT NULL REFERENCES run(id), id INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
  size INTEGER NOT NULL, chunk_size INTEGER NOT NULL, first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,
  born REAL NOT NULL, died REAL, address INTEGER NOT NULL, PRIMARY KEY(run, id)) WITHOUT ROWID;
CREATE TABLE object_place(
  run INTEGER NOT NULL, object INTEGER NOT NULL, first INTEGER NOT NULL, chunks INTEGER NOT NULL,
  place INTEGER NOT NULL, PRIMARY KEY(run, object, first)) WITHOUT ROWID;
CREATE TABLE loop(
  run INTEGER NOT NULL REFERENCES run(id), number INTEGER NOT NULL, name TEXT NOT NULL, begun REAL NOT NULL,
  why TEXT NOT NULL, turns_before INTEGER NOT NULL, ended REAL, iterations INTEGER, observed INTEGER,
  misses_before INTEGER NOT NULL, misses_by_end INTEGER, PRIMARY KEY(run, number)) WITHOUT ROWID;
CREATE VIEW loop_time AS
  WITH last_turn AS (
      SELECT loop.run AS run, number, begun, turns_before, iterations, name, loop.ended AS ended,
        CASE WHEN iterations > 1 AND loop.ended >= 0.999 * run.ended THEN (
          SELECT MIN(one.begun) FROM phase_instance AS one
          WHERE one.run = loop.run AND one.loop = number AND one.iteration = (
            SELECT MAX(iteration) FROM phase_instance AS two WHERE two.run = loop.run AND two.loop = number))
        END AS last
      FROM loop JOIN run ON run.id = loop.run WHERE loop.ended IS NOT NULL),
    taken AS (
      SELECT run, number, begun, turns_before, name, MAX(iterations, 1) AS iterations,
        COALESCE(MIN(ended - begun, (last - begun) * iterations / (iterations - 1)), ended - begun) AS time
      FROM last_turn),
    whole AS (
      SELECT run, number, begun, name, time, MIN(time * turns_before / iterations, begun) AS before FROM taken)
  SELECT run, name, MIN(number) AS first, MIN(begun - before) AS begun, SUM(time + before) AS time
  FROM whole GROUP BY run, name;
CREATE TABLE loop_candidate(
  run INTEGER NOT NULL REFERENCES run(id), name TEXT NOT NULL, taken INTEGER NOT NULL, begins_at REAL NOT NULL,
  share REAL NOT NULL, visits INTEGER NOT NULL, iterations INTEGER NOT NULL, verdict TEXT NOT NULL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE VIEW main_loop AS
  WITH most AS MATERIALIZED (SELECT run, MAX(time) AS time FROM loop_time GROUP BY run),
    taken AS MATERIALIZED (
      SELECT run, name, 0 AS first FROM loop_candidate WHERE taken AND verdict = ''
      UNION ALL
      SELECT one.run AS run, one.name AS name, MIN(one.first) AS first
      FROM loop_time AS one JOIN most ON most.run = one.run
      WHERE one.time >= 0.75 * most.time
        AND one.time >= 0.4 * (SELECT COALESCE(ended, 0) - one.begun FROM run WHERE id = one.run)
        AND one.run NOT IN (SELECT run FROM loop_candidate WHERE taken)
      GROUP BY one.run)
  SELECT loop.* FROM loop LEFT JOIN taken ON taken.run = loop.run
  WHERE loop.name = taken.name
    OR NOT EXISTS (SELECT 1 FROM loop AS found WHERE found.run = loop.run AND found.why <> '');
CREATE TABLE phase_instance(
  run INTEGER NOT NULL REFERENCES run(id), loop INTEGER NOT NULL, iteration INTEGER NOT NULL,
  phase INTEGER NOT NULL, name TEXT NOT NULL, begun REAL NOT NULL, ended REAL NOT NULL, waited REAL NOT NULL,
  observed INTEGER NOT NULL);
CREATE INDEX phase_instance_by_run ON phase_instance(run, loop, iteration, phase);
CREATE TABLE proof(
  run INTEGER NOT NULL REFERENCES run(id), loop INTEGER NOT NULL, at REAL NOT NULL, unplaced REAL NOT NULL,
  placed REAL NOT NULL, iterations_unplaced INTEGER NOT NULL, iterations_placed INTEGER NOT NULL,
  predicted_unplaced REAL NOT NULL, predicted REAL NOT NULL, undone INTEGER NOT NULL,
  noise INTEGER NOT NULL,
  PRIMARY KEY(run, loop)) WITHOUT ROWID;
CREATE TABLE core_time(
  run INTEGER NOT NULL REFERENCES run(id), phase TEXT NOT NULL, instruction_time REAL NOT NULL,
  PRIMARY KEY(run, phase)) WITHOUT ROWID;

CREATE TABLE iteration(
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id), loop INTEGER NOT NULL, number INTEGER NOT NULL,
  exact INTEGER NOT NULL, anew INTEGER NOT NULL);
CREATE INDEX iteration_by_run ON iteration(run, loop, exact, number);
CREATE TABLE phase(
  iteration INTEGER NOT NULL REFERENCES iteration(id), phase INTEGER NOT NULL, name TEXT NOT NULL,
  time REAL NOT NULL, core REAL NOT NULL, samples REAL NOT NULL, samples_with_access REAL NOT NULL,
  bandwidth_time REAL NOT NULL, unowned_lines REAL NOT NULL, PRIMARY KEY(iteration, phase)) WITHOUT ROWID;
CREATE TABLE cell(
  iteration INTEGER NOT NULL REFERENCES iteration(id), phase INTEGER NOT NULL, chunk INTEGER NOT NULL,
  read_lines REAL NOT NULL, write_lines REAL NOT NULL, exposure REAL NOT NULL, samples REAL NOT NULL,
  line_squares REAL NOT NULL, streamed_lines REAL NOT NULL, streamed_exposure REAL NOT NULL,
  PRIMARY KEY(iteration, phase, chunk)) WITHOUT ROWID;
CREATE TABLE chunk_place(
  iteration INTEGER NOT NULL REFERENCES iteration(id), first INTEGER NOT NULL, chunks INTEGER NOT NULL,
  place INTEGER NOT NULL, PRIMARY KEY(iteration, first)) WITHOUT ROWID;

CREATE TABLE move(
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id), loop INTEGER NOT NULL, object INTEGER NOT NULL,
  first INTEGER NOT NULL, chunks INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL,
  iteration INTEGER NOT NULL, ask INTEGER NOT NULL, need INTEGER NOT NULL, size INTEGER NOT NULL,
  benefit REAL NOT NULL, cost REAL NOT NULL, asked REAL NOT NULL, begun REAL NOT NULL, done REAL NOT NULL,
  waited REAL NOT NULL, refused INTEGER NOT NULL);
CREATE INDEX move_by_run ON move(run, asked);
CREATE TABLE plan(
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id), at REAL NOT NULL, why TEXT NOT NULL,
  planner TEXT NOT NULL, machine TEXT NOT NULL, loop TEXT NOT NULL, budget TEXT NOT NULL, phases TEXT NOT NULL,
  predicted REAL NOT NULL, predicted_slow REAL NOT NULL, lower_bound REAL NOT NULL, gap REAL NOT NULL,
  blob BLOB NOT NULL);
CREATE TABLE plan_object(
  plan INTEGER NOT NULL REFERENCES plan(id), object INTEGER NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL,
  chunks INTEGER NOT NULL, pinned INTEGER NOT NULL, PRIMARY KEY(plan, object)) WITHOUT ROWID;
CREATE TABLE plan_part(
  plan INTEGER NOT NULL, object INTEGER NOT NULL, first INTEGER NOT NULL, chunks INTEGER NOT NULL,
  place TEXT NOT NULL);
CREATE TABLE plan_move(
  plan INTEGER NOT NULL, position INTEGER NOT NULL, object INTEGER NOT NULL, first INTEGER NOT NULL,
  chunks INTEGER NOT NULL, target TEXT NOT NULL, ask INTEGER NOT NULL, need INTEGER NOT NULL,
  awaited INTEGER NOT NULL, benefit REAL NOT NULL, cost REAL NOT NULL,
  PRIMARY KEY(plan, position)) WITHOUT ROWID;
CREATE TABLE counters(
  run INTEGER PRIMARY KEY REFERENCES run(id), accesses INTEGER NOT NULL, instructions INTEGER NOT NULL, misses INTEGER NOT NULL,
  unseen INTEGER NOT NULL, dropped INTEGER NOT NULL, core REAL NOT NULL, exposed REAL NOT NULL,
  bandwidth_bound REAL NOT NULL, stalled REAL NOT NULL, waited REAL NOT NULL, charged REAL NOT NULL);
CREATE TABLE level(
  run INTEGER NOT NULL REFERENCES run(id), position INTEGER NOT NULL, name TEXT NOT NULL, accesses REAL NOT NULL,
  hit_time REAL NOT NULL, pure_miss_time REAL NOT NULL, PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE TABLE spill(
  run INTEGER NOT NULL REFERENCES run(id), position INTEGER NOT NULL, iteration INTEGER, at REAL NOT NULL,
  bytes_read INTEGER NOT NULL, bytes_written INTEGER NOT NULL, foreseen INTEGER NOT NULL,
  demanded INTEGER NOT NULL, wasted INTEGER NOT NULL, clean INTEGER NOT NULL, touches INTEGER NOT NULL, waited REAL NOT NULL,
  content INTEGER NOT NULL, most INTEGER NOT NULL, room INTEGER NOT NULL, given INTEGER NOT NULL,
  least_read INTEGER NOT NULL, least_written INTEGER NOT NULL, least_time REAL NOT NULL,
  predicted REAL NOT NULL, measured REAL NOT NULL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE TABLE mpi_call(
  run INTEGER NOT NULL REFERENCES run(id), function TEXT NOT NULL, calls INTEGER NOT NULL, time REAL NOT NULL,
  sent INTEGER NOT NULL, received INTEGER NOT NULL, PRIMARY KEY(run, function)) WITHOUT ROWID;
CREATE TABLE mpi_message(
  run INTEGER NOT NULL REFERENCES run(id), peer INTEGER NOT NULL, size_class INTEGER NOT NULL,
  messages INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY(run, peer, size_class)) WITHOUT ROWID;
CREATE TABLE mpi_object(
  run INTEGER NOT NULL REFERENCES run(id), library TEXT NOT NULL, kind TEXT NOT NULL, object TEXT NOT NULL,
  place TEXT, objects INTEGER NOT NULL, bytes INTEGER NOT NULL, elsewhere INTEGER NOT NULL);
CREATE TABLE coverage(
  run INTEGER PRIMARY KEY REFERENCES run(id), sample_period REAL NOT NULL, not_sampled TEXT NOT NULL,
  samples INTEGER NOT NULL, time_share REAL NOT NULL, time_at_least REAL NOT NULL, heap REAL NOT NULL,
  heap_uncovered REAL NOT NULL);
CREATE TABLE coverage_code(
  run INTEGER NOT NULL REFERENCES run(id), path TEXT NOT NULL, hooks INTEGER NOT NULL, in_loop REAL NOT NULL,
  elsewhere REAL NOT NULL, PRIMARY KEY(run, path, hooks)) WITHOUT ROWID;
CREATE TABLE coverage_object(
  run INTEGER NOT NULL REFERENCES run(id), object INTEGER NOT NULL, uncovered INTEGER NOT NULL,
  PRIMARY KEY(run, object)) WITHOUT ROWID;
CREATE TABLE note(
  run INTEGER REFERENCES run(id), at REAL, severity TEXT NOT NULL, text TEXT NOT NULL);
)sql";

}  // namespace terrace::profile
