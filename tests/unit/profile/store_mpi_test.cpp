// SPDX-License-Identifier: Apache-2.0
// Tests the rows of MPI calls and messages in a store.
#include <gtest/gtest.h>

#include "core/journal.hpp"
#include "store_fixture.hpp"

namespace terrace::profile {
namespace {

// The last record of a process is valid; other processes keep theirs.
TEST_F(StoreTest, MpiRecords_LastOfEachProcessIsKept) {
  const auto write = [&](const char* name, std::uint32_t process, const std::vector<MpiRecord>& records) {
    Journal journal(path(name));
    RunRecord run;
    run.process = process;
    append(journal, run);
    for (const auto& record : records) append(journal, record);
    append(journal, EndRecord{{19}, "exit"});
  };
  const MpiRecord early{{{"Init", 1, {1}, 0, 0}, {"Recv", 1, {1}, 0, 8}}, {{1, 4, 1, 8}}};
  const MpiRecord last{{{"Init", 1, {1}, 0, 0}, {"Send", 3, {0.25}, 24, 0}},
                       {{2, 4, 2, 16}, {MpiMessages::k_other, 4, 1, 8}},
                       {{"MPICH 4.0.2", "pools", "pools of sysv", "hbm0", 2, 4096, 16},
                        {"MPICH 4.0.2", "control", "barrier", "", 1, 64, 0}}};
  write("j1", 1, {early, last});
  write("j2", 2, {early});
  const auto store = merge_journals({path("j1"), path("j2")}, path("x.terrace")).path;
  EXPECT_EQ(count(store, "mpi_call WHERE run = 1"), 2);
  EXPECT_EQ(count(store,
                  "mpi_call WHERE run = 1 AND function = 'Send' AND calls = 3 AND time = 0.25 AND sent = 24 "
                  "AND received = 0"),
            1);
  EXPECT_EQ(count(store, "mpi_message WHERE run = 1"), 2);
  EXPECT_EQ(
      count(store, "mpi_message WHERE run = 1 AND peer = 2 AND size_class = 4 AND messages = 2 AND bytes = 16"),
      1);
  EXPECT_EQ(count(store, "mpi_message WHERE run = 1 AND peer = -1 AND messages = 1"), 1);
  EXPECT_EQ(count(store,
                  "mpi_object WHERE run = 1 AND library = 'MPICH 4.0.2' AND kind = 'pools' AND object = 'pools of "
                  "sysv' AND place = 'hbm0' AND objects = 2 AND bytes = 4096 AND elsewhere = 16"),
            1);
  EXPECT_EQ(count(store, "mpi_object WHERE run = 1 AND kind = 'control' AND place IS NULL"), 1);
  EXPECT_EQ(count(store, "mpi_object"), 2);
  EXPECT_EQ(count(store, "mpi_call WHERE run = 2 AND function = 'Recv' AND received = 8"), 1);
  EXPECT_EQ(count(store, "mpi_message WHERE run = 2"), 1);
}

}  // namespace
}  // namespace terrace::profile
