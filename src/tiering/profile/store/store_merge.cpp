// SPDX-License-Identifier: Apache-2.0
// Merges journals into a store, for the launcher at the end of a job and for `terrace merge`: inserts all records
// as rows, in one transaction, into a draft that is renamed when complete.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "core/error.hpp"
#include "core/journal.hpp"
#include "profile/store/store.hpp"
#include "profile/store/store_database.hpp"
#include "profile/store/store_rows.hpp"
#include "profile/store/store_schema.hpp"

namespace terrace::profile {
namespace {

std::vector<std::byte> read_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw Error(Code::not_found, error.message());
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(Code::failed, std::strerror(errno));
  std::vector<std::byte> bytes(size);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

// Draft file next to the final name; removed unless publish() was called.
class Draft {
 public:
  explicit Draft(const StoreName& name) : name_(name), path_(name.draft_path()) {
    unlink(path_.c_str());
    // Create it with access for the user only, like journals; SQLite would apply the umask alone.
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) throw Error(Code::failed, "cannot write " + name.path() + ": " + std::strerror(errno));
    close(file);
  }
  ~Draft() {
    if (!published_) unlink(path_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

  std::string publish() {
    if (const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
      fsync(file);
      close(file);
    }
    auto path = name_.publish(path_);
    published_ = true;
    return path;
  }

 private:
  const StoreName& name_;
  std::string path_;
  bool published_ = false;
};

template <class Record>
void add_decoded(RunRows& rows, std::span<const std::byte> payload) {
  BlobReader in(payload);
  Record record;
  decode(in, record);
  rows.add(record);
}

// Adds a record. Returns false for an unknown type.
bool add_record(RunRows& rows, const JournalRecord& record) {
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::run:
      add_decoded<RunRecord>(rows, record.payload);
      return true;
    case RecordType::object:
      add_decoded<ObjectRecord>(rows, record.payload);
      return true;
    case RecordType::object_end:
      add_decoded<ObjectEndRecord>(rows, record.payload);
      return true;
    case RecordType::loop:
      add_decoded<LoopRecord>(rows, record.payload);
      return true;
    case RecordType::loop_end:
      add_decoded<LoopEndRecord>(rows, record.payload);
      return true;
    case RecordType::phase:
      add_decoded<PhaseRecord>(rows, record.payload);
      return true;
    case RecordType::proof:
      add_decoded<ProofRecord>(rows, record.payload);
      return true;
    case RecordType::core_time:
      add_decoded<CoreTimeRecord>(rows, record.payload);
      return true;
    case RecordType::iteration:
      add_decoded<IterationRecord>(rows, record.payload);
      return true;
    case RecordType::moves:
      add_decoded<MovesRecord>(rows, record.payload);
      return true;
    case RecordType::transfers:
      add_decoded<TransfersRecord>(rows, record.payload);
      return true;
    case RecordType::plan:
      add_decoded<PlanRecord>(rows, record.payload);
      return true;
    case RecordType::note:
      add_decoded<NoteRecord>(rows, record.payload);
      return true;
    case RecordType::counters:
      add_decoded<CountersRecord>(rows, record.payload);
      return true;
    case RecordType::levels:
      add_decoded<LevelsRecord>(rows, record.payload);
      return true;
    case RecordType::loops:
      add_decoded<LoopsRecord>(rows, record.payload);
      return true;
    case RecordType::mpi:
      add_decoded<MpiRecord>(rows, record.payload);
      return true;
    case RecordType::spill:
      add_decoded<SpillRecord>(rows, record.payload);
      return true;
    case RecordType::coverage:
      add_decoded<CoverageRecord>(rows, record.payload);
      return true;
    case RecordType::end:
      add_decoded<EndRecord>(rows, record.payload);
      return true;
    case RecordType::machine:
      add_decoded<MachineRecord>(rows, record.payload);
      return true;
    case RecordType::calibration:
      add_decoded<CalibrationRecord>(rows, record.payload);
      return true;
  }
  return false;
}

// Adds a warning on the job, or on one of its runs, to the summary and to the store.
void add_note(Database& database, MergeSummary& summary, std::optional<std::int64_t> run,
              const std::string& text) {
  summary.notes.push_back(text);
  Statement insert(database, "INSERT INTO note(run, at, severity, text) VALUES(?, NULL, 'warning', ?)");
  insert.run(run, text);
}

std::string records(std::size_t count) { return std::to_string(count) + (count == 1 ? " record" : " records"); }

// Merges one journal, which becomes one row of `run`.
void merge_journal(Database& database, const std::string& journal, const std::string& job, MergeSummary& summary) {
  std::vector<std::byte> bytes;
  std::optional<RunRows> rows;
  JournalEnd end;
  std::size_t undecodable = 0;
  std::size_t unknown = 0;
  std::string first_reason;
  try {
    bytes = read_file(journal);
    end = read_journal(bytes, [&](const JournalRecord& record) {
      if (!rows) rows.emplace(database, journal, job);
      try {
        if (!add_record(*rows, record)) ++unknown;
      } catch (const Error& error) {
        // Undecodable content with a valid checksum comes from another version of the writer. Errors of SQLite are
        // not the record's, and end the merge.
        if (error.code() == Code::failed) throw;
        if (undecodable++ == 0) first_reason = error.what();
      }
    });
  } catch (const Error& error) {
    if (rows || error.code() == Code::failed) throw;
    add_note(database, summary, std::nullopt, "journal " + journal + " could not be read: " + error.what());
    return;
  }
  if (!rows) rows.emplace(database, journal, job);
  rows->finish(end);
  ++summary.processes;
  summary.records += end.records;

  const std::string who = "process " + std::to_string(rows->process()) + rows->program();
  const auto note = [&](const std::string& text) { add_note(database, summary, rows->id(), who + text); };
  if (!end.whole) {
    note(": its journal was cut short (" + end.reason + ")");
  } else if (!rows->ended()) {
    note(std::string(k_no_end) + ": its journal ends after " + records(end.records));
  }
  if (!end.whole || !rows->ended()) ++summary.incomplete;
  if (undecodable > 0) {
    note(": left out " + records(undecodable) + " that could not be decoded (" + first_reason + ")");
  }
  if (unknown > 0)
    note(": left out " + records(unknown) +
         " of a kind that this version does not know; merge with the one that wrote it");
}

}  // namespace

bool visit_journal(const std::string& path, const std::function<void(const JournalRecord&)>& visit) {
  try {
    const auto bytes = read_file(path);
    read_journal(bytes, visit);
    return true;
  } catch (const Error&) {
    return false;
  }
}

namespace {

// Returns how many processes of the MPI job did not end by themselves.
std::int64_t count_losses(Database& database, const std::string& job) {
  Statement query(database, "SELECT COUNT(*) FROM run WHERE job = ? AND ended IS NULL");
  query.bind_all(job);
  return query.step() ? query.integer(0) : 0;
}

// Inserts the journals and notes in one transaction.
void insert_journals(Database& database, const std::vector<std::string>& journals,
                     const std::vector<std::string>& notes, const std::string& job, MergeSummary& summary) {
  const auto losses = count_losses(database, job);
  for (const auto& journal : journals) merge_journal(database, journal, job, summary);
  if (summary.processes == 0) {
    throw Error(Code::not_found, summary.notes.empty()
                                     ? "there is no journal to merge; name a *.journal that a run left"
                                     : summary.notes.front());
  }
  for (const auto& text : notes) {
    Statement insert(database, "INSERT INTO note(run, at, severity, text) VALUES(NULL, NULL, 'note', ?)");
    insert.run(text);
  }
  summary.has_first_loss = losses == 0 && count_losses(database, job) > 0;
  // Within the transaction, so that exactly one launcher completes the job.
  Statement ranks(database, "SELECT COUNT(DISTINCT rank) >= MAX(ranks) FROM run WHERE job = ?");
  ranks.bind_all(job);
  summary.completes_job = job.empty() || !ranks.step() || ranks.integer(0) != 0;
}

// Lets one launcher of a folder at a time write the profile of its job. Where the file system has no such locks
// (flock(2)), launchers that end at the same time may write a profile each.
class FolderLock {
 public:
  explicit FolderLock(const std::string& file) {
    const auto folder = std::filesystem::absolute(file).parent_path();
    fd_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

bool is_profile_of_job(const std::string& path, const std::string& job) {
  try {
    Database database(path, Database::Mode::read);
    Statement version(database, "PRAGMA user_version");
    if (!version.step() || version.integer(0) != k_store_version) return false;
    Statement query(database, "SELECT 1 FROM run WHERE job = ?");
    query.bind_all(job);
    return query.step();
  } catch (const Error&) {  // another file, or damaged
    return false;
  }
}

// Adds the journals to the profile of their job, if another rank's launcher has written it. SQLite's lock orders
// concurrent launchers. Returns false if the file belongs to another job.
bool add_to_job(const std::string& path, const std::vector<std::string>& journals,
                const std::vector<std::string>& notes, const std::string& job, MergeSummary& summary) {
  if (!is_profile_of_job(path, job)) return false;
  Database database(path, Database::Mode::change);
  database.execute("BEGIN IMMEDIATE");
  MergeSummary added;
  insert_journals(database, journals, notes, job, added);
  database.execute("COMMIT");
  summary = std::move(added);
  summary.path = path;
  return true;
}

}  // namespace

MergeSummary merge_journals(const std::vector<std::string>& journals, const StoreName& name,
                            const std::vector<std::string>& notes, const std::string& job) {
  MergeSummary summary;
  std::optional<FolderLock> lock;
  if (!job.empty()) {
    lock.emplace(name.path());
    for (const auto& path : name.names_in_use())
      if (add_to_job(path, journals, notes, job, summary)) return summary;
  }
  Draft draft(name);
  {
    Database database(draft.path(), Database::Mode::create);
    // An incomplete draft is discarded, so it needs no crash protection.
    database.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;");
    database.execute("PRAGMA application_id = " + std::to_string(k_store_application) +
                     "; PRAGMA user_version = " + std::to_string(k_store_version) + ";");
    database.execute("BEGIN");
    database.execute(k_store_schema);
    insert_journals(database, journals, notes, job, summary);
    database.execute("COMMIT");
  }
  summary.path = draft.publish();
  return summary;
}

MergeSummary merge_journals(const std::vector<std::string>& journals, const std::string& out) {
  return merge_journals(journals, StoreName::next_free(out));
}

}  // namespace terrace::profile
