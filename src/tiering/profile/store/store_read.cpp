// SPDX-License-Identifier: Apache-2.0
// Reads a store into profiles, machines and plans, for planners and the Python bindings.
#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "core/error.hpp"
#include "profile/store/store.hpp"
#include "profile/store/store_database.hpp"
#include "profile/store/store_rows.hpp"
#include "profile/store/store_schema.hpp"

namespace terrace::profile {
namespace {

std::int64_t pragma(Database& database, const std::string& name) {
  Statement query(database, "PRAGMA " + name);
  return query.step() ? query.integer(0) : 0;
}

std::span<const std::byte> bytes_of(const std::string& blob) {
  return {reinterpret_cast<const std::byte*>(blob.data()), blob.size()};
}

// Returns whether the file has SQLite's magic (https://www.sqlite.org/fileformat.html, section 1.3).
bool is_sqlite(const std::string& path) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::array<char, 16> begin{};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) && std::string_view(begin.data(), begin.size()) == magic;
}

}  // namespace

class Store::Impl {
 public:
  explicit Impl(const std::string& file) : path(file), database(file, Database::Mode::read) {}

  // Throws unless the file is a store of the version that this program reads.
  void check_version() {
    std::int64_t application = 0;
    try {
      application = pragma(database, "application_id");
    } catch (const Error&) {
      if (is_sqlite(path)) {
        throw Error(Code::failed, path + " is damaged: record the program again (SQLite: " +
                                      sqlite3_errmsg(database.handle()) + ")");
      }
    }
    if (application != k_store_application) {
      throw Error(Code::invalid, path + " is not a profile store; name a file that `terrace record` writes");
    }
    if (const auto version = pragma(database, "user_version"); version != k_store_version) {
      throw Error(Code::invalid, path + " is a profile store of version " + std::to_string(version) +
                                     ", this program reads version " + std::to_string(k_store_version) +
                                     ": record the program again");
    }
  }

  Error missing(std::int64_t run, const std::string& what) const {
    return {Code::not_found, path + ": process " + std::to_string(run) + " has no " + what};
  }

  // Parses a column's bytes. Throws Error{failed}, with the file and the column, where they do not parse.
  template <class Parse>
  auto parsed(const std::string& column, const std::string& blob, Parse&& parse) const {
    try {
      BlobReader in(bytes_of(blob));
      return parse(in);
    } catch (const std::exception& error) {
      throw Error(Code::failed,
                  path + " is damaged: record the program again (" + column + ": " + error.what() + ")");
    }
  }

  // Marks objects freed before the end of the loop's last phase as not live: plans need not place them.
  std::vector<observe::Object> objects(std::int64_t run, std::int64_t loop) {
    Statement query(database,
                    "SELECT id, name, kind, size, chunk_size, first_chunk, chunks, died IS NULL OR died >= "
                    "(SELECT coalesce(max(ended), 0) FROM phase_instance WHERE run = ?1 AND loop = ?2) "
                    "FROM object WHERE run = ?1 ORDER BY id");
    query.bind_all(run, loop);
    std::vector<observe::Object> result;
    while (query.step()) {
      auto& o = result.emplace_back();
      o.id = static_cast<ObjectId>(query.integer(0));
      o.name = query.text(1);
      o.kind = parse_kind(query.text(2), path);
      o.size = {static_cast<std::uint64_t>(query.integer(3))};
      o.chunk_size = {static_cast<std::uint64_t>(query.integer(4))};
      o.first_chunk = static_cast<ChunkId>(query.integer(5));
      o.chunks = static_cast<std::uint32_t>(query.integer(6));
      o.live = query.integer(7) != 0;
    }
    return result;
  }

  // Reads a profiled iteration's phases, each with its cells (the traffic of one chunk).
  std::vector<observe::Phase> phases(std::int64_t iteration) {
    std::vector<observe::Phase> result;
    Statement query(
        database,
        "SELECT name, time, core, samples, samples_with_access, bandwidth_time, unowned_lines FROM phase "
        "WHERE iteration = ? ORDER BY phase");
    query.bind_all(iteration);
    while (query.step()) {
      result.push_back({query.text(0),
                        {query.real(1)},
                        {query.real(2)},
                        query.real(3),
                        query.real(4),
                        {query.real(5)},
                        query.real(6),
                        {}});
    }
    Statement cells(database,
                    "SELECT phase, chunk, read_lines, write_lines, exposure, samples, line_squares, "
                    "streamed_lines, streamed_exposure FROM cell "
                    "WHERE iteration = ? ORDER BY phase, chunk");
    cells.bind_all(iteration);
    while (cells.step()) {
      result.at(static_cast<std::size_t>(cells.integer(0)))
          .cells.push_back({static_cast<ChunkId>(cells.integer(1)), cells.real(2), cells.real(3), cells.real(4),
                            cells.real(5), cells.real(6), cells.real(7), cells.real(8)});
    }
    return result;
  }

  // Reads the place of each chunk at the begin of a profiled iteration; k_no_place: not recorded.
  std::vector<PlaceId> places(std::int64_t iteration) {
    std::vector<PlaceId> result;
    Statement query(database, "SELECT first, chunks, place FROM chunk_place WHERE iteration = ? ORDER BY first");
    query.bind_all(iteration);
    while (query.step()) {
      result.resize(static_cast<std::size_t>(query.integer(0)), k_no_place);
      result.resize(static_cast<std::size_t>(query.integer(0) + query.integer(1)),
                    static_cast<PlaceId>(query.integer(2)));
    }
    return result;
  }

  // Adds the weight of skipped iterations to the last profiled iteration before each.
  void weight_skipped_iterations(std::int64_t run, std::int64_t loop,
                                 std::vector<observe::Iteration>& iterations) {
    Statement query(database,
                    "SELECT iteration FROM phase_instance WHERE run = ? AND loop = ? GROUP BY iteration "
                    "HAVING NOT min(observed)");
    query.bind_all(run, loop);
    while (query.step()) {
      const auto after = std::upper_bound(
          iterations.begin(), iterations.end(), query.integer(0),
          [](std::int64_t number, const observe::Iteration& iteration) { return number < iteration.number; });
      if (after != iterations.begin()) (after - 1)->stands_for += 1;
    }
  }

  // Returns unobserved accesses as a share of all accesses.
  double unseen(std::int64_t run) {
    Statement query(database,
                    "SELECT CAST(unseen AS REAL) / max(1, accesses + unseen) FROM counters WHERE run = ?");
    query.bind_all(run);
    return query.step() ? query.real(0) : 0;
  }

  std::string path;
  Database database;
};

Store::Store(const std::string& path) : impl_(std::make_unique<Impl>(path)) { impl_->check_version(); }
Store::~Store() = default;

std::vector<StoredRun> Store::runs() const {
  Statement query(impl_->database,
                  "SELECT id, process, program, backend, mode, "
                  "(SELECT count(*) FROM iteration i WHERE i.run = run.id AND NOT i.exact), "
                  "(SELECT count(*) FROM iteration i WHERE i.run = run.id AND i.exact) FROM run ORDER BY id");
  std::vector<StoredRun> result;
  while (query.step()) {
    result.push_back({query.integer(0), static_cast<std::uint32_t>(query.integer(1)), query.text(2), query.text(3),
                      query.text(4), static_cast<std::size_t>(query.integer(5)),
                      static_cast<std::size_t>(query.integer(6))});
  }
  return result;
}

Profile Store::profile(std::int64_t run, bool exact) const {
  auto& database = impl_->database;
  Profile profile;
  profile.exact = exact;
  Statement iterations(database,
                       "SELECT id, number, loop, anew FROM iteration i WHERE run = ?1 AND exact = ?2 AND loop = "
                       "(SELECT max(loop) FROM iteration WHERE run = ?1 AND exact = ?2 AND loop IN "
                       "(SELECT number FROM main_loop WHERE run = ?1)) AND number >= "
                       "(SELECT ifnull(max(number), 0) FROM iteration WHERE run = ?1 AND exact = ?2 "
                       "AND loop = i.loop AND anew) ORDER BY number, id");
  iterations.bind_all(run, exact);
  std::int64_t loop = -1;
  while (iterations.step()) {
    const auto id = iterations.integer(0);
    loop = iterations.integer(2);
    if (profile.iterations.empty()) profile.places = impl_->places(id);
    profile.moving = profile.moving || iterations.integer(3) != 0;
    profile.iterations.push_back({static_cast<std::uint32_t>(iterations.integer(1)), impl_->phases(id)});
  }
  impl_->weight_skipped_iterations(run, loop, profile.iterations);
  if (profile.iterations.empty())
    throw impl_->missing(run,
                         exact ? "exact profile; simulate it with --exact" : "profile; terrace show says why");
  profile.objects = impl_->objects(run, loop);
  profile.unseen = impl_->unseen(run);
  Statement facts(database,
                  "SELECT initiator, cores, sample_interval, "
                  "(SELECT name FROM loop WHERE run = ?1 AND number = ?2), progress FROM run WHERE id = ?1");
  facts.bind_all(run, loop);
  if (facts.step()) {
    profile.initiator = static_cast<InitiatorId>(facts.integer(0));
    profile.cores = facts.real(1);
    if (!exact) profile.sample_interval = {facts.real(2)};
    profile.loop = facts.text(3);
    profile.progress = facts.text(4);
  }
  return profile;
}

machine::Machine Store::machine(std::int64_t run) const {
  Statement query(impl_->database, "SELECT blob FROM machine WHERE id = (SELECT machine FROM run WHERE id = ?)");
  query.bind_all(run);
  if (!query.step()) throw impl_->missing(run, "machine in its journal");
  return impl_->parsed("machine.blob", query.text(0), machine::Machine::from_blob);
}

std::string Store::calibration(std::int64_t run) const {
  Statement query(impl_->database, "SELECT calibration FROM run WHERE id = ?");
  query.bind_all(run);
  return query.step() ? query.text(0) : std::string();
}

std::vector<StoredPlan> Store::plans(std::int64_t run) const {
  Statement query(impl_->database, "SELECT blob, at, why FROM plan WHERE run = ? ORDER BY id");
  query.bind_all(run);
  std::vector<StoredPlan> result;
  while (query.step()) {
    result.push_back({impl_->parsed("plan.blob", query.text(0), Plan::from_blob), {query.real(1)}, query.text(2)});
  }
  return result;
}

}  // namespace terrace::profile
