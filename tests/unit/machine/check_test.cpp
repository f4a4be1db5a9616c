// Tests `terrace machine check` on several modelled systems, each a tree of /proc and /sys files and results of
// system calls, and on this system, with a real seccomp filter and real limits.
#include "machine/discover/check.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "machine/describe/describe.hpp"

namespace terrace::machine {
namespace {

namespace fs = std::filesystem;

// Writes the files of a modelled system below a temporary folder.
class Tree {
 public:
  explicit Tree(const std::map<std::string, std::string>& files) {
    std::string name = fs::temp_directory_path() / "terrace-check-XXXXXX";
    root_ = ::mkdtemp(name.data());
    for (const auto& [path, text] : files) {
      fs::create_directories((root_ / path).parent_path());
      std::ofstream(root_ / path) << text << '\n';
    }
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  [[nodiscard]] SystemFiles files() const { return SystemFiles(root_); }

 private:
  fs::path root_;
};

// Fake of the system calls with configurable results.
struct PlayedCalls : SystemCalls {
  int try_prefer_node(int) override { return mbind_error; }
  int try_move_page(int node) override {
    tried.push_back(node);
    return node == full_node ? ENOMEM : move_error;
  }
  int try_exchange_pages() override { return exchange_error; }
  int try_trap_faults() override { return touches_error; }
  int try_count_misses() override { return perf_error; }
  std::optional<Bytes> free_space(const std::string&) override { return room; }
  std::optional<Bytes> locked_memory_limit() override { return locked; }

  int mbind_error = 0;
  int move_error = 0;
  int exchange_error = 0;
  int touches_error = 0;
  int perf_error = 0;
  int full_node = -1;
  std::optional<Bytes> room = Bytes{std::uint64_t{64} << 30};
  std::optional<Bytes> locked;
  std::vector<int> tried;
};

const std::map<std::string, std::string> k_laptop = {
    {"proc/self/cgroup", "0::/user.slice/app.scope"},
    {"proc/self/mountinfo", "25 22 0:24 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"},
    {"proc/self/status", "Name:\tterrace\nSeccomp:\t0\nMems_allowed_list:\t0"},
    {"proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         1000000 kB"},
    {"proc/sys/kernel/numa_balancing", "0"},
    {"proc/sys/kernel/perf_event_paranoid", "4"},
    {"sys/devices/system/node/has_memory", "0"},
    {"sys/devices/system/node/has_cpu", "0"},
    {"sys/fs/cgroup/user.slice/app.scope/memory.max", "max"},
    {"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0"},
    {"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"}};

// Two sockets with CXL memory; a batch job limited to the memory of one socket, by cgroup v1.
const std::map<std::string, std::string> k_batch_job = {
    {"proc/self/cgroup",
     "7:cpuset:/slurm/job_7\n5:cpu,cpuacct:/slurm/job_7\n4:memory:/slurm/job_7/step_0\n1:name=systemd:/x\n0::/x"},
    {"proc/self/mountinfo",
     "30 22 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
     "31 22 0:27 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
     "32 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"},
    {"proc/self/status", "Seccomp:\t0\nMems_allowed_list:\t0,2"},
    {"proc/meminfo", "MemTotal:       263000000 kB"},
    {"proc/sys/kernel/numa_balancing", "2"},
    {"proc/sys/kernel/perf_event_paranoid", "2"},
    {"sys/devices/system/node/has_memory", "0-2"},
    {"sys/devices/system/node/has_cpu", "0-1"},
    {"sys/fs/cgroup/cpuset/slurm/job_7/cpuset.mems", "0,2"},
    {"sys/fs/cgroup/cpuset/cpuset.mems", "0-2"},
    {"sys/fs/cgroup/memory/slurm/job_7/step_0/memory.limit_in_bytes", "9223372036854771712"},
    {"sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "8589934592"},
    {"sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", "1073741824"},
    {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"},
    {"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512"},
    {"sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "4"},
    {"sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"}};

// A container: the path of its group is the host's, and the mounted root is the group itself.
const std::map<std::string, std::string> k_container = {
    {"proc/self/cgroup", "0::/system.slice/docker-12ab.scope"},
    {"proc/self/mountinfo",
     "900 899 0:29 /system.slice/docker-12ab.scope /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw"},
    {"proc/self/status", "Seccomp:\t2\nMems_allowed_list:\t0-1"},
    {"proc/meminfo", "MemTotal:       64000000 kB"},
    {"proc/sys/kernel/numa_balancing", "1"},
    {"proc/sys/kernel/perf_event_paranoid", "2"},
    {"sys/devices/system/node/has_memory", "0-1"},
    {"sys/devices/system/node/has_cpu", "0-1"},
    {"sys/fs/cgroup/memory.max", "2147483648"},
    {"sys/fs/cgroup/memory.current", "104857600"},
    {"sys/fs/cgroup/cpuset.mems.effective", "0-1"},
    {"sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"}};

using Findings = std::map<std::string, Finding>;

Findings by_subject(const std::vector<Finding>& findings) {
  Findings found;
  for (const auto& one : findings) EXPECT_TRUE(found.emplace(one.subject, one).second) << one.subject;
  return found;
}

Findings check(const std::map<std::string, std::string>& files, SystemCalls& calls) {
  const Tree tree(files);
  return by_subject(check_system(tree.files(), calls, "/tmp"));
}

Fact fact(const Finding& finding, const std::string& name) {
  for (const auto& [key, value] : finding.facts)
    if (key == name) return value;
  return std::string("no such fact");
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(KernelLists, RoundTrip_EqualsInput) {
  EXPECT_EQ(parse_list("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_list(""), (std::vector<int>{}));
  EXPECT_EQ(parse_list("1,x"), (std::vector<int>{1}));
  EXPECT_LT(parse_list("0-2000000000").size(), 100000u);
  EXPECT_EQ(format_list({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(format_list({}), "");
}

template <class Line>
void expect_limited(const Line& line, const char* found, const char* advice) {
  EXPECT_EQ(line.verdict, Verdict::limited);
  EXPECT_TRUE(contains(line.found, found)) << line.found;
  EXPECT_TRUE(contains(line.advice, advice)) << line.advice;
}

TEST(MachineCheck, PageExchange_ReportsReason) {
  PlayedCalls calls;
  EXPECT_EQ(check(k_laptop, calls).at("page exchange").verdict, Verdict::yes);
  for (const auto& [error, found, advice] : {std::tuple{EINVAL, "no UFFDIO_MOVE", "Linux 6.8"},
                                             std::tuple{EPERM, "EPERM", "vm.unprivileged_userfaultfd"}}) {
    calls.exchange_error = error;
    expect_limited(check(k_laptop, calls).at("page exchange"), found, advice);
  }
}

TEST(MachineCheck, MemoryOverFile_ReportsReason) {
  PlayedCalls calls;
  EXPECT_EQ(check(k_laptop, calls).at("out-of-core memory").verdict, Verdict::yes);
  // Without permission the system call fails, or the device: it does not exist, or is not accessible.
  for (const auto& [error, found, advice] :
       {std::tuple{EINVAL, "the kernel's userfaultfd cannot", "Linux 6.8"},
        std::tuple{ENOSYS, "the kernel's userfaultfd cannot", "Linux 6.8"},
        std::tuple{EPERM, "no right to userfaultfd: EPERM", "vm.unprivileged_userfaultfd=1"},
        std::tuple{ENOENT, "no right to userfaultfd: ENOENT", "/dev/userfaultfd"},
        std::tuple{EACCES, "no right to userfaultfd: EACCES", "/dev/userfaultfd"}}) {
    calls.touches_error = error;
    const auto line = check(k_laptop, calls).at("out-of-core memory");
    expect_limited(line, found, advice);
    EXPECT_TRUE(contains(line.advice, "slower")) << line.advice;
    EXPECT_EQ(fact(line, "works"), Fact(false));
  }
}

TEST(MachineCheck, SingleNode_IsLimited) {
  PlayedCalls calls;
  calls.perf_error = EACCES;
  const auto found = check(k_laptop, calls);
  EXPECT_EQ(found.at("NUMA nodes").verdict, Verdict::limited);
  EXPECT_EQ(found.at("NUMA nodes").found, "1 with memory (0), 1 with CPUs (0)");
  EXPECT_EQ(found.at("page moves").verdict, Verdict::yes);
  EXPECT_EQ(found.at("memory limit").verdict, Verdict::yes);
  EXPECT_EQ(found.at("transparent huge pages").verdict, Verdict::limited);
  EXPECT_EQ(found.at("NUMA balancing").verdict, Verdict::yes);
  EXPECT_EQ(found.at("hardware counters").verdict, Verdict::no);
  EXPECT_TRUE(contains(found.at("hardware counters").found, "EACCES; kernel.perf_event_paranoid is 4"));
  EXPECT_TRUE(contains(found.at("hardware counters").advice, "kernel.perf_event_paranoid=2"));
}

TEST(MachineCheck, CgroupV1_LimitsAreReported) {
  PlayedCalls calls;
  const auto found = check(k_batch_job, calls);
  EXPECT_EQ(found.at("NUMA nodes").verdict, Verdict::yes);
  EXPECT_EQ(found.at("allowed nodes").verdict, Verdict::limited);
  EXPECT_EQ(found.at("allowed nodes").found, "only 0,2 of 0-2, by the control group's cpuset (version 1)");
  EXPECT_EQ(calls.tried, (std::vector<int>{0, 2})) << "only allowed nodes are tried";
  // The step has no limit of its own, so that of the job applies.
  EXPECT_EQ(found.at("memory limit").verdict, Verdict::limited);
  EXPECT_EQ(fact(found.at("memory limit"), "limit"), Fact(std::int64_t{8} << 30));
  EXPECT_EQ(fact(found.at("memory limit"), "used"), Fact(std::int64_t{1} << 30));
  EXPECT_EQ(fact(found.at("memory limit"), "version"), Fact(std::int64_t{1}));
  EXPECT_EQ(found.at("transparent huge pages").verdict, Verdict::yes);
  EXPECT_EQ(fact(found.at("reserved huge pages"), "reserved"), Fact(std::int64_t{5} << 30));
  EXPECT_EQ(found.at("reserved huge pages").verdict, Verdict::limited);
  EXPECT_EQ(fact(found.at("NUMA balancing"), "mode"), Fact(std::int64_t{2}));
  EXPECT_EQ(found.at("NUMA balancing").verdict, Verdict::limited);
}

TEST(MachineCheck, CgroupLimit_BelowMachine_IsDescribed) {
  MachineParts parts;
  parts.name = "two";
  parts.places = {{"hbm0", "hbm", {std::uint64_t{4} << 30}, {4096}, 0, 1},
                  {"ddr0", "ddr", {std::uint64_t{16} << 30}, {4096}, 0, 0}};
  parts.initiators = {{}};
  parts.initiators[0].name = "cores0";
  parts.initiators[0].cores = 1;
  parts.initiators[0].frequency_hz = 1e9;
  parts.initiators[0].instruction_time = {1e-9};
  parts.domains = {{"domain0", 0, {}}};
  parts.paths = {{0, 0, {4e11}, {4e11}, {1e-7}}, {0, 1, {1e11}, {1e11}, {1e-7}}};
  const Machine machine(parts);
  const auto said = [&](const std::map<std::string, std::string>& files) {
    const auto limit = Tree(files).files().memory_limit();
    return limit ? describe(machine, *limit) : "";
  };
  EXPECT_EQ(said(k_batch_job),
            "\nMemory limit\n  8GiB of all places together, by the control group (version 1), 1GiB of it in use\n"
            "  `terrace run` keeps its budgets within the limit\n");
  EXPECT_EQ(
      said(k_container),
      "\nMemory limit\n  2GiB of all places together, by the control group (version 2), 100MiB of it in use\n"
      "  `terrace run` keeps its budgets within the limit\n");
  EXPECT_EQ(said(k_laptop), "");
  auto roomy = k_container;
  roomy["sys/fs/cgroup/memory.max"] = "21474836480";  // all memory of the machine
  EXPECT_EQ(said(roomy), "");
  const auto limit = Tree(k_container).files().memory_limit();
  EXPECT_EQ(limit_budget(machine, whole_budget(machine), limit->limit),
            (Budget{{std::uint64_t{2} << 30}, {std::uint64_t{2} << 30}}));
}

TEST(MachineCheck, SeccompFilter_RefusingMoves_IsNamed) {
  PlayedCalls calls;
  calls.mbind_error = EPERM;
  calls.move_error = EPERM;
  calls.perf_error = EPERM;
  calls.room = Bytes{std::uint64_t{64} << 20};
  calls.locked = Bytes{64 << 10};
  const auto found = check(k_container, calls);
  for (const auto* subject : {"page policies", "page moves"}) {
    EXPECT_EQ(found.at(subject).verdict, Verdict::no);
    EXPECT_TRUE(contains(found.at(subject).found, "EPERM")) << found.at(subject).found;
    EXPECT_TRUE(contains(found.at(subject).advice, "seccomp")) << found.at(subject).advice;
  }
  EXPECT_EQ(found.at("seccomp").verdict, Verdict::limited);
  EXPECT_EQ(fact(found.at("memory limit"), "limit"), Fact(std::int64_t{2} << 30));
  EXPECT_EQ(fact(found.at("memory limit"), "version"), Fact(std::int64_t{2}));
  EXPECT_EQ(found.at("transparent huge pages").verdict, Verdict::no);
  EXPECT_EQ(found.at("shared memory").verdict, Verdict::limited);
  EXPECT_EQ(found.at("journal folder").verdict, Verdict::limited);
  EXPECT_EQ(found.at("locked memory").verdict, Verdict::limited);
}

TEST(MachineCheck, SeccompFilter_AllowingMoves_IsYes) {
  PlayedCalls calls;
  EXPECT_EQ(check(k_container, calls).at("seccomp").verdict, Verdict::yes);
}

TEST(MachineCheck, HiddenSystem_HasAllFindings) {
  PlayedCalls calls;
  calls.mbind_error = ENOSYS;
  calls.move_error = ENOSYS;
  calls.perf_error = ENOSYS;
  calls.room.reset();
  const auto found = check({}, calls);
  EXPECT_EQ(found.at("NUMA nodes").verdict, Verdict::no);
  EXPECT_TRUE(contains(found.at("page moves").found, "ENOSYS"));
  EXPECT_TRUE(contains(found.at("page moves").advice, "CONFIG_NUMA"));
  EXPECT_EQ(found.at("memory limit").verdict, Verdict::yes);
  EXPECT_EQ(found.at("transparent huge pages").verdict, Verdict::no);
  EXPECT_EQ(found.at("journal folder").verdict, Verdict::no);
}

TEST(MachineCheck, FullNode_IsNamed) {
  PlayedCalls calls;
  calls.full_node = 1;
  auto files = k_container;
  const auto found = check(files, calls);
  EXPECT_EQ(found.at("page moves").verdict, Verdict::no);
  EXPECT_EQ(fact(found.at("page moves"), "node"), Fact(std::int64_t{1}));
  EXPECT_EQ(fact(found.at("page moves"), "errno"), Fact(std::string("ENOMEM")));
}

TEST(MachineCheck, Advice_OnlyForOtherVerdictsThanYes) {
  PlayedCalls calls;
  calls.perf_error = ENOENT;
  for (const auto& files : {k_laptop, k_batch_job, k_container, {}}) {
    const Tree tree(files);
    const auto findings = check_system(tree.files(), calls, "/tmp");
    for (const auto& one : findings)
      EXPECT_EQ(one.advice.empty(), one.verdict == Verdict::yes) << one.subject << ": " << one.found;
    const auto text = describe(findings);
    EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), findings.size());
    const auto json = nlohmann::json::parse(describe_json(findings));
    EXPECT_EQ(json.at("schema"), 1);
    ASSERT_EQ(json.at("checks").size(), findings.size());
    EXPECT_EQ(json.at("checks")[0].at("subject"), "NUMA nodes");
    EXPECT_EQ(json.at("checks")[0].at("verdict"), std::string(verdict_name(findings[0].verdict)));
  }
}

TEST(MachineCheck, ThisSystem_AgreesWithFilesAndCalls) {
  const auto found = by_subject(check_system(SystemFiles(), this_system(), fs::temp_directory_path()));
  const auto nodes = SystemFiles().list("/sys/devices/system/node/has_memory").value_or(std::vector<int>{});
  EXPECT_EQ(fact(found.at("NUMA nodes"), "with_memory"), Fact(format_list(nodes)));
  EXPECT_NE(found.at("journal folder").verdict, Verdict::no) << "this test writes there";
  EXPECT_FALSE(this_system().free_space("/no/such/folder").has_value());
}

TEST(MachineCheck, LockedMemoryLimit_IsOfTheProcess) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  if (before.rlim_max != RLIM_INFINITY && before.rlim_max < 65536) GTEST_SKIP() << "the lock limit is too low";
  const rlimit low{65536, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &low), 0);
  EXPECT_EQ(this_system().locked_memory_limit(), Bytes{65536});
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

// Installs a filter that refuses mbind and move_pages with EPERM, as the default profile of containers does.
bool refuse_page_calls() {
  constexpr auto k_number = static_cast<unsigned>(offsetof(seccomp_data, nr));
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k_number), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(MachineCheck, RealSeccompFilter_IsDetected) {
  constexpr int k_no_filter = 77;
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!refuse_page_calls()) ::_exit(k_no_filter);
    const auto found = by_subject(check_system(SystemFiles(), this_system(), "/tmp"));
    const auto& moves = found.at("page moves");
    const bool right = moves.verdict == Verdict::no && contains(moves.found, "EPERM") &&
                       contains(moves.advice, "seccomp") && found.at("page policies").verdict == Verdict::no &&
                       found.at("seccomp").verdict == Verdict::limited;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == k_no_filter) GTEST_SKIP() << "this kernel takes no seccomp filters";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace terrace::machine
