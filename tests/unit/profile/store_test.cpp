// Tests of the store: content equals the journals, also of killed processes; the file appears atomically and
// overwrites nothing; and the documentation names every table and column.
#include "profile/store/store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>

#include "core/error.hpp"
#include "core/journal.hpp"
#include "profile/store/store_database.hpp"
#include "profile/store/time_coverage.hpp"
#include "store_fixture.hpp"
#include "support/synthetic_job.hpp"

namespace terrace::profile {
namespace {

void expect_equal(const observe::Iteration& a, const observe::Iteration& b) {
  EXPECT_EQ(a.number, b.number);
  ASSERT_EQ(a.phases.size(), b.phases.size());
  for (std::size_t p = 0; p < a.phases.size(); ++p) {
    EXPECT_EQ(a.phases[p].name, b.phases[p].name);
    EXPECT_EQ(a.phases[p].time, b.phases[p].time);
    EXPECT_EQ(a.phases[p].core, b.phases[p].core);
    EXPECT_EQ(a.phases[p].samples, b.phases[p].samples);
    EXPECT_EQ(a.phases[p].samples_with_access, b.phases[p].samples_with_access);
    EXPECT_EQ(a.phases[p].bandwidth_time, b.phases[p].bandwidth_time);
    EXPECT_EQ(a.phases[p].unowned_lines, b.phases[p].unowned_lines);
    ASSERT_EQ(a.phases[p].cells.size(), b.phases[p].cells.size());
    for (std::size_t c = 0; c < a.phases[p].cells.size(); ++c) {
      EXPECT_EQ(a.phases[p].cells[c].chunk, b.phases[p].cells[c].chunk);
      EXPECT_EQ(a.phases[p].cells[c].read_lines, b.phases[p].cells[c].read_lines);
      EXPECT_EQ(a.phases[p].cells[c].write_lines, b.phases[p].cells[c].write_lines);
      EXPECT_EQ(a.phases[p].cells[c].exposure, b.phases[p].cells[c].exposure);
      EXPECT_EQ(a.phases[p].cells[c].samples, b.phases[p].cells[c].samples);
      EXPECT_EQ(a.phases[p].cells[c].line_squares, b.phases[p].cells[c].line_squares);
      EXPECT_EQ(a.phases[p].cells[c].streamed_lines, b.phases[p].cells[c].streamed_lines);
      EXPECT_EQ(a.phases[p].cells[c].streamed_exposure, b.phases[p].cells[c].streamed_exposure);
    }
  }
}

TEST(StoreDatabase, TextThatIsNotUtf8_IsStoredAsText) {
  Database database(":memory:", Database::Mode::create);
  database.execute("CREATE TABLE object(name TEXT)");
  Statement(database, "INSERT INTO object VALUES(?)").run(std::string("a\x99"));
  Statement read(database, "SELECT name FROM object");
  ASSERT_TRUE(read.step());
  EXPECT_EQ(read.text(0), "a\xEF\xBF\xBD");
}

TEST_F(StoreTest, SampledAndExactProfile_RoundTripExactly) {
  const Store store(merge_two().path);
  for (const bool exact : {false, true}) {
    const auto profile = store.profile(1, exact);
    EXPECT_EQ(profile.exact, exact);
    EXPECT_EQ(profile.loop, "main");
    EXPECT_EQ(profile.sample_interval, Seconds{exact ? 0 : 1e-6});
    ASSERT_EQ(profile.iterations.size(), 1U);
    expect_equal(profile.iterations[0], test::synthetic_iteration(0, exact, {}));
    const auto& objects = test::synthetic_objects();
    ASSERT_EQ(profile.objects.size(), objects.size());
    std::uint32_t chunks = 0;
    for (std::size_t o = 0; o < objects.size(); ++o) {
      EXPECT_EQ(profile.objects[o].name, objects[o].name);
      EXPECT_EQ(profile.objects[o].kind, objects[o].kind);
      EXPECT_EQ(profile.objects[o].size.value, objects[o].size);
      EXPECT_EQ(profile.objects[o].first_chunk, chunks);
      EXPECT_TRUE(profile.objects[o].live);  // "r" was freed, but after the loop
      chunks += profile.objects[o].chunks;
    }
    EXPECT_EQ(profile.places, std::vector<PlaceId>(chunks, 1));
    EXPECT_NEAR(profile.unseen, 1.8e6 / 91.8e6, 1e-12);
  }
}

TEST_F(StoreTest, MachineAndPlan_RoundTrip) {
  const Store store(merge_two().path);
  BlobWriter wanted;
  BlobWriter read;
  test::synthetic_machine().to_blob(wanted);
  store.machine(2).to_blob(read);
  EXPECT_TRUE(std::ranges::equal(wanted.bytes(), read.bytes()));
  const auto plans = store.plans(1);
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].plan.planner, "unimem");
  EXPECT_EQ(plans[0].plan.moves.size(), 2U);
  EXPECT_EQ(plans[0].why, "after the first iteration");
  EXPECT_TRUE(store.plans(2).empty());
}

// Compares with the formulas of docs/reference/store.md, computed by hand.
TEST(TimeCoverage, InstrumentedTime_IsDividedBySlowdown) {
  CoverageRecord record;
  record.sample_period = {0.5};
  EXPECT_EQ(time_coverage(record, false).share, 0);
  record.code = {{"app", true, {120}, {5}}, {"libm", false, {30}, {250}}};
  const auto in_loop = time_coverage(record, true);
  EXPECT_EQ(in_loop.samples, 300U);
  EXPECT_NEAR(in_loop.share, 60.0 / (60 + 120), 1e-12);
  const double least = 60 - 2 * std::sqrt(60 * 240 / 300.0);
  EXPECT_NEAR(in_loop.at_least, least / (least + (300 - least) / 2), 1e-12);
  const auto in_all = time_coverage(record, false);
  EXPECT_EQ(in_all.samples, 810U);
  EXPECT_NEAR(in_all.share, 560.0 / (560 + 125), 1e-12);
  record.code = {{"libm", false, {15}, {}}};
  EXPECT_EQ(time_coverage(record, true).share, 1);
  EXPECT_EQ(time_coverage(record, true).at_least, 1);
  record.code = {{"libm", false, {9.6}, {}}};
  EXPECT_EQ(time_coverage(record, true).at_least, 0) << "few samples prove nothing";
  record.code = {{"app", true, {15}, {}}, {"libm", false, {1.5}, {}}};
  EXPECT_EQ(time_coverage(record, true).at_least, 0) << "nor do few of the kind";
  record.code = {{"damaged", false, {-1}, {}}};
  EXPECT_EQ(time_coverage(record, true).samples, 0U);
}

TEST_F(StoreTest, Coverage_IsStored) {
  const auto merged = merge_two();
  Database database(merged.path, Database::Mode::read);
  Statement coverage(database, "SELECT samples, time_share, heap, heap_uncovered FROM coverage WHERE run = 1");
  coverage.bind_all();
  ASSERT_TRUE(coverage.step());
  EXPECT_EQ(coverage.integer(0), 300);
  EXPECT_NEAR(coverage.real(1), 1.0 / 3, 1e-12);
  EXPECT_EQ(coverage.real(2), 80e6);
  EXPECT_EQ(coverage.real(3), 4e6);
  EXPECT_EQ(count(merged.path, "coverage_code WHERE run = 1 AND NOT hooks"), 2);
  EXPECT_EQ(count(merged.path, "coverage_object WHERE run = 1 AND object = 5"), 1);
  EXPECT_EQ(count(merged.path, "coverage WHERE run = 2"), 0) << "it was killed before its loop ended";
}

// A repeated record replaces the previous one.
TEST_F(StoreTest, RepeatedCoverage_LastIsStored) {
  {
    Journal journal(path("j"));
    append(journal, RunRecord{});
    append(journal,
           CoverageRecord{{4e-3}, "", {{"a", true, {1}, {}}, {"b", false, {1}, {}}}, 10, 5, {{1, {4096}}}});
    append(journal, CoverageRecord{{4e-3}, "", {{"a", true, {3}, {}}}, 10, 0, {}});
    append(journal, EndRecord{{1}, "exit"});
  }
  const auto merged = merge_journals({path("j")}, path("x.terrace"));
  EXPECT_EQ(count(merged.path, "coverage"), 1);
  EXPECT_EQ(count(merged.path, "coverage_code"), 1);
  EXPECT_EQ(count(merged.path, "coverage_code WHERE elsewhere + in_loop = 3"), 1);
  EXPECT_EQ(count(merged.path, "coverage_object"), 0);
}

TEST_F(StoreTest, SeveralProcesses_RunsSeparateMachineShared) {
  const auto summary = merge_two();
  EXPECT_EQ(summary.processes, 2U);
  const auto runs = Store(summary.path).runs();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].process, 11U);
  EXPECT_EQ(runs[0].mode, "simulate");
  EXPECT_EQ(runs[1].mode, "record");
  EXPECT_EQ(count(summary.path, "machine"), 1);
  EXPECT_EQ(count(summary.path, "object WHERE run = 2"), 8);
  // Four phases per iteration; the killed process did not begin its last one.
  EXPECT_EQ(count(summary.path, "phase_instance WHERE run = 1"), 24);
  EXPECT_EQ(count(summary.path, "phase_instance WHERE run = 2"), 20);
}

TEST_F(StoreTest, MissingEndRecord_IsNoted) {
  const auto summary = merge_two();
  EXPECT_EQ(summary.incomplete, 1U);
  ASSERT_EQ(summary.notes.size(), 1U);
  EXPECT_NE(summary.notes[0].find("process 12 (/home/user/heat) did not end"), std::string::npos)
      << summary.notes[0];
  EXPECT_EQ(count(summary.path, "run WHERE NOT whole AND ended IS NULL AND process = 12"), 1);
}

TEST_F(StoreTest, ExistingFile_NextFreeNameIsUsed) {
  test::write_synthetic_journal(path("1.journal"));
  const auto out = path("heat.7.terrace");
  std::ofstream(out) << "precious";
  EXPECT_EQ(merge_journals({path("1.journal")}, out).path, path("heat.7-2.terrace"));
  EXPECT_EQ(merge_journals({path("1.journal")}, out).path, path("heat.7-3.terrace"));
  std::string text;
  std::ifstream(out) >> text;
  EXPECT_EQ(text, "precious");
  struct stat status {};
  ASSERT_EQ(stat(path("heat.7-2.terrace").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(StoreTest, FailedMerge_LeavesNoFile) {
  EXPECT_THROW(merge_journals({path("none.journal")}, path("a.terrace")), Error);
  std::ofstream(path("text.journal")) << std::string(500, 'x');
  EXPECT_THROW(merge_journals({path("text.journal")}, path("a.terrace")), Error);
  EXPECT_THROW(merge_journals({}, path("a.terrace")), Error);
  std::vector<fs::path> left(fs::directory_iterator(folder_), {});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].filename(), "text.journal");
}

TEST_F(StoreTest, UnreadableJournal_IsNotedAndOthersMerge) {
  test::write_synthetic_journal(path("1.journal"));
  std::ofstream(path("2.journal")) << "not a journal";
  const auto summary = merge_journals({path("2.journal"), path("1.journal")}, path("a.terrace"));
  EXPECT_EQ(summary.processes, 1U);
  ASSERT_EQ(summary.notes.size(), 1U);
  EXPECT_NE(summary.notes[0].find(path("2.journal")), std::string::npos) << summary.notes[0];
  EXPECT_EQ(count(summary.path, "note WHERE run IS NULL"), 1);
}

TEST_F(StoreTest, TruncatedJournal_AtAnyByte_Merges) {
  const auto journal = path("1.journal");
  test::write_synthetic_journal(journal);
  const auto size = fs::file_size(journal);
  std::mt19937_64 random(5);
  for (int round = 0; round < 40; ++round) {
    const auto cut = path("cut.journal");
    fs::copy_file(journal, cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, 64 + random() % (size - 64));
    const auto summary = merge_journals({cut}, path("cut.terrace"));
    EXPECT_EQ(summary.processes, 1U);
    EXPECT_EQ(summary.incomplete, 1U);
    EXPECT_EQ(summary.notes.size(), 1U);
    EXPECT_EQ(count(summary.path, "run WHERE whole"), 0);
    EXPECT_EQ(Store(summary.path).runs().size(), 1U);
    fs::remove(summary.path);
  }
}

// A writer of real records is killed at fifty random times: all records that it counted as written are in the
// store.
TEST_F(StoreTest, KilledWriter_CommittedRecordsMerge) {
  using Counter = std::atomic<std::uint32_t>;
  void* shared = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& written = *new (shared) Counter(0);
  std::mt19937 random(7);
  const auto iteration = test::synthetic_iteration(0, false, {});
  for (int round = 0; round < 50; ++round) {
    const auto file = path("killed." + std::to_string(round) + ".journal");
    const std::uint32_t kill_after = 1 + static_cast<std::uint32_t>(random() % 40);
    written = 0;
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Journal journal(file);
      append(journal, RunRecord{});
      append(journal, LoopRecord{"main", {0}});
      for (std::uint32_t n = 0;; ++n) {
        append(journal, IterationRecord{false, {n, iteration.phases}, {}});
        written.store(n + 1, std::memory_order_release);
      }
    }
    while (written.load(std::memory_order_acquire) < kill_after) sched_yield();
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const auto summary = merge_journals({file}, path("killed.terrace"));
    const auto profile = Store(summary.path).profile(1, false);
    EXPECT_GE(profile.iterations.size(), written.load());
    EXPECT_LE(profile.iterations.size(), written.load() + 1);
    for (std::uint32_t n = 0; n < profile.iterations.size(); ++n) {
      expect_equal(profile.iterations[n], {n, iteration.phases});
    }
    fs::remove(summary.path);
  }
  munmap(shared, sizeof(Counter));
}

TEST_F(StoreTest, UnknownRecords_AreSkippedAndNoted) {
  {
    Journal journal(path("1.journal"));
    append(journal, RunRecord{});
    journal.append(999, std::as_bytes(std::span("future")));
    journal.append(static_cast<std::uint16_t>(RecordType::phase), std::as_bytes(std::span("xy")));
    append(journal, EndRecord{{1}, "exit"});
  }
  const auto summary = merge_journals({path("1.journal")}, path("a.terrace"));
  ASSERT_EQ(summary.notes.size(), 2U);
  EXPECT_NE(summary.notes[0].find("1 record that could not be decoded"), std::string::npos) << summary.notes[0];
  EXPECT_NE(summary.notes[1].find("1 record of a kind"), std::string::npos) << summary.notes[1];
  EXPECT_EQ(summary.incomplete, 0U);
}

TEST_F(StoreTest, LaunchersOfOneMpiJob_WriteOneProfile) {
  constexpr int k_ranks = 4;
  const auto name = path("heat.terrace");
  test::write_synthetic_journal(path("earlier.journal"), {.process = 1});
  merge_journals({path("earlier.journal")}, StoreName::requested(name));
  std::vector<pid_t> launchers;
  int num_completing = 0;
  for (int rank = 0; rank < k_ranks; ++rank) {
    const auto launcher = fork();
    if (launcher == 0) {
      const auto journal = path(std::to_string(rank) + ".journal");
      test::write_synthetic_journal(
          journal, {.process = static_cast<std::uint32_t>(100 + rank), .rank = rank, .ranks = k_ranks});
      const auto written = merge_journals({journal}, StoreName::requested(name), {}, "job.1");
      const bool is_right = written.path == name && written.processes == 1;
      _exit(!is_right ? 99 : written.completes_job ? 1 : 0);
    }
    launchers.push_back(launcher);
  }
  for (const auto launcher : launchers) {
    int status = 0;
    waitpid(launcher, &status, 0);
    num_completing += WEXITSTATUS(status);
  }
  EXPECT_EQ(num_completing, 1) << "one launcher reports";
  EXPECT_EQ(count(name, "run"), k_ranks);
  EXPECT_EQ(count(name, "(SELECT DISTINCT rank FROM run WHERE job = 'job.1' AND ranks = 4)"), k_ranks);
  EXPECT_EQ(count(name, "object"), static_cast<std::int64_t>(k_ranks * test::synthetic_objects().size()));
  // Another job does not touch this file, unless it replaces it.
  test::write_synthetic_journal(path("next.journal"), {.process = 200, .rank = 0, .ranks = 2});
  const auto next = merge_journals({path("next.journal")}, StoreName::next_free(name), {}, "job.2");
  EXPECT_EQ(next.path, path("heat-2.terrace"));
  EXPECT_FALSE(next.completes_job) << "the other rank has not ended";
  test::write_synthetic_journal(path("last.journal"), {.process = 201, .rank = 1, .ranks = 2});
  const auto last = merge_journals({path("last.journal")}, StoreName::next_free(name), {}, "job.2");
  EXPECT_EQ(last.path, next.path);
  EXPECT_TRUE(last.completes_job);
}

TEST_F(StoreTest, KilledRanks_OneLauncherHasTheFirstLoss) {
  const auto name = path("job.terrace");
  const auto merge = [&](std::uint32_t rank, bool ends) {
    const auto journal = path(std::to_string(rank) + ".journal");
    test::write_synthetic_journal(
        journal, {.process = 100 + rank, .ends = ends, .rank = static_cast<std::int32_t>(rank), .ranks = 4});
    return merge_journals({journal}, StoreName::requested(name), {}, "job.1");
  };
  EXPECT_FALSE(merge(0, true).has_first_loss);
  EXPECT_TRUE(merge(1, false).has_first_loss);
  EXPECT_FALSE(merge(2, false).has_first_loss) << "the second one";
  const auto last = merge(3, true);
  EXPECT_FALSE(last.has_first_loss);
  EXPECT_TRUE(last.completes_job);
}

TEST_F(StoreTest, OtherFile_Throws) {
  const auto refusal = [&](const std::string& file) {
    try {
      Store store(file);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::no_memory;  // never thrown
  };
  EXPECT_EQ(refusal(path("none.terrace")), Code::not_found);
  std::ofstream(path("text.terrace")) << std::string(5000, 'x');
  EXPECT_EQ(refusal(path("text.terrace")), Code::invalid);
  const auto newer = merge_two().path;
  fs::permissions(newer, fs::perms::owner_all);
  fs::copy_file(newer, path("cut.terrace"));
  fs::resize_file(path("cut.terrace"), 5000);
  EXPECT_EQ(refusal(path("cut.terrace")), Code::failed) << "a damaged store is no wrong call";
  Database(newer, Database::Mode::create).execute("PRAGMA user_version = 99");
  EXPECT_EQ(refusal(newer), Code::invalid);
}

TEST_F(StoreTest, Schema_EveryColumnIsDocumented) {
  std::ifstream file(TERRACE_SOURCE_DIR "/docs/reference/store.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  Database database(merge_two().path, Database::Mode::read);
  Statement query(
      database, "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'");
  int columns = 0;
  for (; query.step(); ++columns) {
    // A table has a heading; its columns are listed in that section.
    const auto heading = page.find("\n### `" + query.text(0) + "`");
    ASSERT_NE(heading, std::string::npos) << query.text(0);
    const auto section = page.substr(heading, page.find("\n#", heading + 4) - heading);
    EXPECT_NE(section.find("`" + query.text(1) + "`"), std::string::npos) << query.text(0) << "." << query.text(1);
  }
  EXPECT_GT(columns, 100);
}

}  // namespace
}  // namespace terrace::profile
