// SPDX-License-Identifier: Apache-2.0
// Tests which rank of which job the environment of a process names, with the variables of real launchers.
#include "core/mpi_rank.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace terrace {
namespace {

using Variables = std::map<std::string, std::string>;

// Returns the rank under these variables and no others.
std::optional<MpiRank> rank_with(const Variables& variables) {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                                 "PMIX_RANK", "PMIX_NAMESPACE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                                 "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID", "PBS_JOBID", "LSB_JOBID"})
    unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  return read_mpi_rank();
}

TEST(MpiRank, Launchers_AreRecognised) {
  const auto open_mpi = rank_with({{"OMPI_COMM_WORLD_RANK", "1"},
                                   {"OMPI_COMM_WORLD_SIZE", "4"},
                                   {"PMIX_RANK", "1"},
                                   {"PMIX_NAMESPACE", "prterun-vm-1268@1"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->rank, 1U);
  EXPECT_EQ(open_mpi->size, 4U);
  EXPECT_EQ(open_mpi->job, "prterun-vm-1268@1");
  const auto mpich = rank_with({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}});
  ASSERT_TRUE(mpich);
  EXPECT_EQ(mpich->rank, 3U);
  EXPECT_TRUE(mpich->job.starts_with(k_mpi_parent));
  const auto slurm = rank_with(
      {{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->size, 8U);
  EXPECT_EQ(slurm->job, "17.2");
}

TEST(MpiRank, MpichInsideOfASlurmStep_HasItsOwnRank) {
  const auto rank = rank_with({{"PMI_RANK", "5"},
                               {"PMI_SIZE", "6"},
                               {"SLURM_JOB_ID", "17"},
                               {"SLURM_STEP_ID", "0"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_STEP_NUM_TASKS", "2"}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 5U);
  EXPECT_EQ(rank->job, "17.0");
}

TEST(MpiRank, BatchScriptAndOtherText_AreNoRanks) {
  EXPECT_FALSE(rank_with({}));
  EXPECT_FALSE(rank_with({{"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
  EXPECT_FALSE(rank_with({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}));
  EXPECT_FALSE(rank_with({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}));
  EXPECT_FALSE(rank_with({{"PMI_RANK", "-1"}, {"PMI_SIZE", "4"}}));
  EXPECT_FALSE(rank_with({{"PMI_RANK", ""}, {"PMI_SIZE", ""}}));
}

}  // namespace
}  // namespace terrace
