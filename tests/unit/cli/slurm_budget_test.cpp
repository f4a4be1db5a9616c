// SPDX-License-Identifier: Apache-2.0
// Tests the conversion of a Slurm job's generic resources to a budget, on recorded outputs of Slurm 22.05's
// `scontrol show job -d`.
#include "cli/slurm_budget.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/error.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::cli {
namespace {

// Recorded: `srun -N2 -n2 --gres=hbm:4000` on nodes with the count-only resource hbm.
constexpr std::string_view k_record = R"(JobId=2 JobName=bash
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Priority=4294901758 Nice=0 Account=(null) QOS=(null)
   JobState=RUNNING Reason=None Dependency=(null)
   NodeList=n[1-2]
   BatchHost=n1
   NumNodes=2 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=2,node=2,billing=2
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   JOB_GRES=hbm:8000
     Nodes=n[1-2] CPU_IDs=3 Mem=0 GRES=hbm(CNT:4000)
   MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0
   Command=bash
   WorkDir=/tmp/Nodes=n1
   TresPerNode=gres:hbm:4000
)";

// Tasks 3 and 2 of an array; the last task keeps the number of the array.
constexpr std::string_view k_array = R"(JobId=7 ArrayJobId=7 ArrayTaskId=3 JobName=a
   JOB_GRES=hbm:300
     Nodes=n1 CPU_IDs=0 Mem=0 GRES=hbm(CNT:300)

JobId=8 ArrayJobId=7 ArrayTaskId=2 JobName=a
   JOB_GRES=hbm:200
     Nodes=n1 CPU_IDs=1 Mem=0 GRES=hbm(CNT:200)
)";

constexpr std::string_view k_two_components = R"(JobId=20 HetJobId=20 HetJobOffset=0 JobName=a
     Nodes=big1 CPU_IDs=0 Mem=0 GRES=hbm:stack(CNT:2K),gpu:a100:2(IDX:0-1)
JobId=21 HetJobId=20 HetJobOffset=1 JobName=a
     Nodes=small[07-12] CPU_IDs=0 Mem=0 GRES=
     Nodes=small13 CPU_IDs=0 Mem=0 GRES=hbm:5
)";

GresCounts counts_of(std::string_view record, std::string_view job, const std::string& node) {
  return find_gres_counts(record, job, {node}).value_or(GresCounts{{"none", 0}});
}

TEST(SlurmRecord, CountOnlyResource_IsCountedPerNode) {
  EXPECT_EQ(counts_of(k_record, "2", "n1"), (GresCounts{{"hbm", 4000}}));
  EXPECT_EQ(counts_of(k_record, "2", "n2"), (GresCounts{{"hbm", 4000}}));
  EXPECT_FALSE(find_gres_counts(k_record, "2", {"n3"}));
  EXPECT_FALSE(find_gres_counts(k_record, "3", {"n1"}));
  EXPECT_EQ(find_gres_counts(k_record, "2", {"login.centre", "login", "n1"}), (GresCounts{{"hbm", 4000}}));
}

TEST(SlurmRecord, TasksOfArray_AreToldApartByTheirNumbers) {
  EXPECT_EQ(counts_of(k_array, "7", "n1"), (GresCounts{{"hbm", 300}}));
  EXPECT_EQ(counts_of(k_array, "8", "n1"), (GresCounts{{"hbm", 200}}));
}

TEST(SlurmRecord, HeterogeneousJob_ComponentIsFoundByNode) {
  EXPECT_EQ(counts_of(k_two_components, "20", "big1"), (GresCounts{{"gpu", 2}, {"hbm", 2048}}));
  EXPECT_EQ(counts_of(k_two_components, "20", "small08"), GresCounts{});
  EXPECT_EQ(counts_of(k_two_components, "20", "small13"), (GresCounts{{"hbm", 5}}));
}

TEST(SlurmRecord, MalformedCounts_AreSkipped) {
  const auto counts = [](const std::string& gres) { return counts_of("JobId=1\nNodes=n GRES=" + gres, "1", "n"); };
  EXPECT_EQ(counts("hbm(CNT:),a(CNT:1,b:x,:3,c,d:4"), GresCounts{});
  EXPECT_EQ(counts("hbm(CNT:99999999999999999999),d:4"), (GresCounts{{"d", 4}}));
  EXPECT_EQ(counts("hbm:1,hbm:18446744073709551615"), (GresCounts{{"hbm", ~0ULL}}));
  EXPECT_EQ(counts("hbm(CNT:18446744073709551615K)"), (GresCounts{{"hbm", ~0ULL}}));
}

TEST(SlurmRecord, Hostlist_ContainsItsNodesOnly) {
  EXPECT_TRUE(contains_node("a,n[1-2,05-11]", "n2"));
  EXPECT_TRUE(contains_node("a,n[1-2,05-11]", "n07"));
  EXPECT_TRUE(contains_node("a,n[1-2,05-11]", "a"));
  EXPECT_TRUE(contains_node("rack[1-2]n[08-12]x", "rack2n12x"));
  EXPECT_TRUE(contains_node("n[8-12]", "n10"));
  for (const char* const node : {"n3", "n7", "n007", "n12", "b", "n", "", "n2x", "n-1"})
    EXPECT_FALSE(contains_node("a,n[1-2,05-11]", node)) << node;
  for (const char* const list : {"n[1", "n]1[", "n[a-b]", "n[]", ",", "n[2-1]"})
    EXPECT_FALSE(contains_node(list, "n1")) << list;
}

std::string budget(const char* machine, const GresCounts& counts) {
  const auto loaded = machine::load_machine(machine).machine;
  return budget_of_gres(loaded, counts, default_gres_units(loaded));
}

TEST(SlurmBudget, Count_IsMebibytesSharedByDomains) {
  EXPECT_EQ(budget("knl-7210-flat", {{"hbm", 4000}, {"gpu", 2}}), "hbm=4000MiB");
  EXPECT_EQ(budget("hbm-ddr-cxl-2domains", {{"hbm", 3001}}), "hbm=1536512KiB");  // 3001 MiB / 2
  EXPECT_EQ(budget("knl-7210-flat", {{"gpu", 2}}), "");
  EXPECT_EQ(budget("knl-7210-flat", {{"hbm", 0}}), "hbm=0B");
}

TEST(SlurmBudget, CountBeyondCapacity_IsTheCapacity) {
  const auto machine = machine::load_machine("knl-7210-flat").machine;
  const auto text = budget("knl-7210-flat", {{"hbm", ~0ULL}});
  EXPECT_EQ(machine::parse_budget(machine, text), machine::whole_budget(machine));
}

TEST(SlurmBudget, StatedUnits_ReplaceTheDefault) {
  const auto units = parse_gres_units("fast=hbm:1GiB,slow=ddr:512KiB");
  EXPECT_EQ(units, (std::vector<GresUnit>{{"fast", "hbm", Bytes{1 << 30}}, {"slow", "ddr", Bytes{512 << 10}}}));
  const auto machine = machine::load_machine("knl-7210-flat").machine;
  EXPECT_EQ(budget_of_gres(machine, {{"fast", 2}, {"slow", 4}, {"hbm", 9}}, units), "ddr=2MiB,hbm=2GiB");
  EXPECT_TRUE(parse_gres_units("").empty());
  for (const char* const text : {"hbm", "hbm=", "=hbm:1MiB", "hbm=:1MiB", "hbm=hbm", "hbm=hbm:x", ",", "a:1=b"})
    EXPECT_THROW(parse_gres_units(text), Error) << text;
}

TEST(SlurmRecord, RandomText_NeverFails) {
  std::minstd_rand draw(3);
  constexpr std::string_view k_pieces[] = {"JobId=1", "\n", " ", "Nodes=", "n[1-", "2]", "n1", ",", "GRES=", "hbm",
                                           "(CNT:",   "4",  ")", ":",      "[",    "]",  "-",  "K", "\xff"};
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "JobId=1\nNodes=n1 GRES=";
    for (auto n = draw() % 10; n > 0; --n) text += k_pieces[draw() % std::size(k_pieces)];
    const auto counts = find_gres_counts(text, "1", {"n1"});
    found += counts && !counts->empty();
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace terrace::cli
