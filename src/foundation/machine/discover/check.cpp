// SPDX-License-Identifier: Apache-2.0
// Examines the running system for `terrace machine check`: system calls, kernel settings, limits and free space.
// See check.hpp.
#include "machine/discover/check.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

namespace terrace::machine {
namespace {

constexpr Bytes k_journal_space{std::uint64_t{1} << 30};   // long profiles have journals of hundreds of megabytes
constexpr Bytes k_shared_space{std::uint64_t{256} << 20};  // containers often have 64 MiB
constexpr Bytes k_min_space{std::uint64_t{4} << 20};       // a job's ledger, or the session and a short journal
constexpr Bytes k_locked_space{std::uint64_t{1} << 20};    // per thread a sampling buffer of 512 KiB and a page

std::string error_name(int error) {
  const char* known = ::strerrorname_np(error);
  return known != nullptr ? known : std::to_string(error);
}

// Makes the findings, one or more by each private function; run() has their order.
class SystemChecker {
 public:
  SystemChecker(const SystemFiles& files, SystemCalls& calls, const std::string& temporary)
      : files_(files), calls_(calls), temporary_(temporary) {
    with_memory_ = nodes("has_memory");
    with_cores_ = nodes("has_cpu");
    const auto allowed = files_.field("/proc/self/status", "Mems_allowed_list");
    allowed_ = allowed ? parse_list(*allowed) : with_memory_;
    std::erase_if(allowed_, [&](int node) {
      return !with_memory_.empty() &&
             std::find(with_memory_.begin(), with_memory_.end(), node) == with_memory_.end();
    });
    if (allowed_.empty()) allowed_ = {0};
    filtered_ = files_.field("/proc/self/status", "Seccomp").value_or("0") == "2";
  }

  std::vector<Finding> run() {
    numa_nodes();
    allowed_nodes();
    refused_ = try_nodes("page policies", "mbind", [&](int node) { return calls_.try_prefer_node(node); });
    refused_ =
        try_nodes("page moves", "move_pages", [&](int node) { return calls_.try_move_page(node); }) || refused_;
    page_exchange();
    memory_over_file();
    seccomp();
    memory_limit();
    transparent_huge_pages();
    explicit_huge_pages();
    numa_balancing();
    hardware_counters();
    locked_memory();
    check_free_space("shared memory", "/dev/shm", k_shared_space, "mount a larger one (containers: --shm-size)");
    check_free_space("journal folder", temporary_, k_journal_space, "set TMPDIR to a folder with more");
    return std::move(findings_);
  }

 private:
  Finding& add(std::string subject, Verdict verdict, std::string found, std::string advice = "") {
    findings_.push_back({std::move(subject), verdict, std::move(found), std::move(advice), {}});
    return findings_.back();
  }

  [[nodiscard]] std::vector<int> nodes(const char* what) const {
    return files_.list(std::string("/sys/devices/system/node/") + what).value_or(std::vector<int>{});
  }

  void numa_nodes() {
    if (with_memory_.empty()) {
      add("NUMA nodes", Verdict::no, "the system shows none",
          "plan and simulate on machine files: terrace simulate --machine NAME")
          .facts = {{"with_memory", ""}, {"with_cpus", ""}};
      return;
    }
    const auto count = [](const std::vector<int>& list, const char* what) {
      return std::to_string(list.size()) + what + (list.empty() ? "" : " (" + format_list(list) + ")");
    };
    const bool several = with_memory_.size() > 1;
    add("NUMA nodes", several ? Verdict::yes : Verdict::limited,
        count(with_memory_, " with memory") + ", " + count(with_cores_, " with CPUs"),
        several
            ? ""
            : "nothing to choose from here: plan and simulate on machine files, terrace simulate --machine NAME")
        .facts = {{"with_memory", format_list(with_memory_)}, {"with_cpus", format_list(with_cores_)}};
  }

  void allowed_nodes() {
    const bool all = allowed_.size() >= with_memory_.size();
    const auto group = files_.group_nodes();
    auto found =
        all ? "all nodes with memory" : "only " + format_list(allowed_) + " of " + format_list(with_memory_);
    const bool by_group = !all && group && group->size() < with_memory_.size();
    if (by_group) {
      const auto version = files_.control_group("cpuset")->version;
      found += ", by the control group's cpuset (version " + std::to_string(version) + ")";
    }
    add("allowed nodes", all ? Verdict::yes : Verdict::limited, found,
        all        ? ""
        : by_group ? "ask the batch system or the container for the other nodes (--cpuset-mems)"
                   : "start without numactl --membind, taskset or a job's binding of memory")
        .facts = {{"allowed", format_list(allowed_)}, {"cpuset", group ? format_list(*group) : ""}};
  }

  // Tries every allowed node, so that with two of them a page must leave its own. Returns whether the system
  // refused.
  bool try_nodes(const char* subject, const std::string& call, const std::function<int(int)>& attempt) {
    for (const int node : allowed_) {
      const int error = attempt(node);
      if (error == 0) continue;
      add(subject, Verdict::no, call + " to node " + std::to_string(node) + " fails with " + error_name(error),
          reason(error, node))
          .facts = {{"works", false}, {"node", std::int64_t{node}}, {"errno", error_name(error)}};
      return error == EPERM || error == ENOSYS;
    }
    add(subject, Verdict::yes, call + " works, tried on node " + format_list(allowed_)).facts = {{"works", true}};
    return false;
  }

  // Page exchange migrates chunks of 64 KiB and more concurrently with the program
  // (docs/explanation/real-memory.md).
  void page_exchange() {
    const int error = calls_.try_exchange_pages();
    const bool old = error == EINVAL || error == ENOSYS;
    add("page exchange", error == 0 ? Verdict::yes : Verdict::limited,
        error == 0 ? "userfaultfd with UFFDIO_MOVE"
        : old      ? "the kernel has no UFFDIO_MOVE"
                   : "userfaultfd fails with " + error_name(error),
        error == 0 ? ""
        : old      ? "moves go by move_pages; Linux 6.8 can exchange pages"
              : "moves go by move_pages; set vm.unprivileged_userfaultfd=1, or give access to /dev/userfaultfd")
        .facts = {{"works", error == 0}, {"errno", error == 0 ? std::string() : error_name(error)}};
  }

  // Requirements of `terrace run --memory` (docs/how-to/out-of-core.md).
  void memory_over_file() {
    const int error = calls_.try_trap_faults();
    const bool old = error == EINVAL || error == ENOSYS;
    const std::string instead = "run --memory uses mappings paged by the kernel, which is slower; ";
    add("out-of-core memory", error == 0 ? Verdict::yes : Verdict::limited,
        error == 0 ? "userfaultfd reports page faults"
        : old      ? "the kernel's userfaultfd cannot report faults by thread and move pages"
                   : (error == EPERM || error == EACCES || error == ENOENT ? "no right to userfaultfd: "
                                                                           : "userfaultfd fails with ") +
                    error_name(error),
        error == 0 ? ""
        : old      ? instead + "Linux 6.8 can do both"
                   : instead + "set vm.unprivileged_userfaultfd=1, or give access to /dev/userfaultfd")
        .facts = {{"works", error == 0}, {"errno", error == 0 ? std::string() : error_name(error)}};
  }

  // Returns the likely cause of a refused mbind or move_pages call, and what to do.
  [[nodiscard]] std::string reason(int error, int node) const {
    const auto number = std::to_string(node);
    switch (error) {
      case EPERM:
      case ENOSYS:
        if (filtered_)
          return "likely a container's seccomp filter: start it with --cap-add SYS_NICE, or allow mbind and "
                 "move_pages in its profile";
        return error == ENOSYS
                   ? "the kernel has no such call (CONFIG_NUMA, CONFIG_MIGRATION), or a sandbox hides it"
                   : "likely a security policy or a sandbox: no seccomp filter is set";
      case EACCES:
      case ENODEV:
      case EINVAL:
        return "likely the control group's cpuset leaves out node " + number;
      case ENOMEM:
        return "node " + number + " or the control group is full: free some memory and try again";
      case EBUSY:
      case EAGAIN:
        return "the page stayed where it was: try again on an idle system";
      default:
        return "see mbind(2) and move_pages(2) for this error";
    }
  }

  void seccomp() {
    const auto mode = files_.field("/proc/self/status", "Seccomp");
    const auto number = mode ? std::strtoll(mode->c_str(), nullptr, 10) : 0;
    if (!mode || number == 0) {
      add("seccomp", Verdict::yes, mode ? "no filter" : "not in this kernel");
    } else if (refused_) {
      add("seccomp", Verdict::limited, "a filter is set and page calls are refused",
          "allow mbind and move_pages in its profile");
    } else {
      add("seccomp", Verdict::yes, "a filter is set, which lets page calls through");
    }
    findings_.back().facts = {{"mode", std::int64_t{number}}};
  }

  void memory_limit() {
    const auto limit = files_.memory_limit();
    const auto total_text = files_.field("/proc/meminfo", "MemTotal");
    const Bytes total{total_text ? std::strtoull(total_text->c_str(), nullptr, 10) * 1024 : 0};
    const bool binds = limit && (total.value == 0 || limit->limit < total);
    if (binds) {
      auto found = format(limit->limit) + " by the control group (version " + std::to_string(limit->version) + ")";
      if (total.value != 0) found += " of the machine's " + format(total);
      if (limit->used) found += ", " + format(*limit->used) + " of it in use";
      add("memory limit", Verdict::limited, found,
          "keep budgets together below it, or ask for more: beyond it the kernel ends processes");
    } else {
      add("memory limit", Verdict::yes, "none below the machine's memory");
    }
    auto& facts = findings_.back().facts;
    facts.emplace_back("machine", static_cast<std::int64_t>(total.value));
    if (limit) facts.emplace_back("limit", static_cast<std::int64_t>(limit->limit.value));
    if (limit && limit->used) facts.emplace_back("used", static_cast<std::int64_t>(limit->used->value));
    if (limit) facts.emplace_back("version", std::int64_t{limit->version});
  }

  void transparent_huge_pages() {
    const auto setting = files_.choice("/sys/kernel/mm/transparent_hugepage/enabled");
    const auto advice =
        "TLB misses then cost more than a machine file says: echo always > "
        "/sys/kernel/mm/transparent_hugepage/enabled";
    if (!setting)
      add("transparent huge pages", Verdict::no, "not in this kernel, or hidden", advice);
    else if (*setting == "always")
      add("transparent huge pages", Verdict::yes, "always");
    else if (*setting == "madvise")
      add("transparent huge pages", Verdict::limited,
          "madvise: only programs that call madvise(MADV_HUGEPAGE) get huge pages", advice);
    else
      add("transparent huge pages", Verdict::no, *setting, advice);
    findings_.back().facts = {{"setting", setting.value_or("")}};
  }

  // Terrace requests no explicit huge pages: memory reserved for them is unavailable to it.
  void explicit_huge_pages() {
    const std::filesystem::path folder = "/sys/kernel/mm/hugepages";
    Bytes reserved{0};
    for (const auto& size : files_.names(folder)) {
      constexpr std::string_view k_lead = "hugepages-";
      if (size.compare(0, k_lead.size(), k_lead) != 0) continue;
      const auto kib = std::strtoull(size.c_str() + k_lead.size(), nullptr, 10);
      const auto pages = files_.number(folder / size / "nr_hugepages").value_or(0);
      reserved += static_cast<std::uint64_t>(std::max<std::int64_t>(pages, 0)) * Bytes{kib * 1024};
    }
    const bool some = reserved.value > 0;
    add("reserved huge pages", some ? Verdict::limited : Verdict::yes,
        some ? format(reserved) + " of memory that Terrace cannot place data in" : "none",
        some ? "release them with sysctl vm.nr_hugepages=0 if no program needs them" : "")
        .facts = {{"reserved", static_cast<std::int64_t>(reserved.value)}};
  }

  void numa_balancing() {
    const auto mode = files_.number("/proc/sys/kernel/numa_balancing");
    const bool on = mode.value_or(0) != 0;
    add("NUMA balancing", on ? Verdict::limited : Verdict::yes,
        on     ? "kernel.numa_balancing is " + std::to_string(*mode) + ": the kernel moves pages, too"
        : mode ? "off"
               : "not in this kernel",
        on ? "placed data is kept from it, the rest is not, and its faults cost time: sysctl "
             "kernel.numa_balancing=0"
           : "")
        .facts = {{"mode", mode.value_or(0)}};
  }

  void hardware_counters() {
    const auto paranoid = files_.number("/proc/sys/kernel/perf_event_paranoid");
    const int error = calls_.try_count_misses();
    const auto level = paranoid ? "; kernel.perf_event_paranoid is " + std::to_string(*paranoid) : "";
    const std::string instead = "profile with terrace record and simulate, which need none";
    if (error == 0) {
      add("hardware counters", Verdict::yes, "cache misses can be counted" + level);
    } else {
      const auto why =
          error == EACCES || error == EPERM
              ? (filtered_ ? "sysctl kernel.perf_event_paranoid=2, and a container with --cap-add PERFMON; or "
                           : "sysctl kernel.perf_event_paranoid=2; or ")
          : error == ENOENT || error == EOPNOTSUPP || error == ENODEV
              ? "the processor, or the virtual machine, shows no such counter: "
              : "";
      add("hardware counters", Verdict::no, "perf_event_open fails with " + error_name(error) + level,
          why + instead);
    }
    auto& facts = findings_.back().facts;
    facts.emplace_back("works", error == 0);
    if (error != 0) facts.emplace_back("errno", error_name(error));
    if (paranoid) facts.emplace_back("paranoid", *paranoid);
  }

  void locked_memory() {
    const auto limit = calls_.locked_memory_limit();
    const bool enough = !limit || *limit >= k_locked_space;
    add("locked memory", enough ? Verdict::yes : Verdict::limited, limit ? "up to " + format(*limit) : "no limit",
        enough ? ""
               : "buffers of hardware samples are locked memory: raise ulimit -l to " + format(k_locked_space));
    if (limit) findings_.back().facts.emplace_back("limit", static_cast<std::int64_t>(limit->value));
  }

  void check_free_space(const char* subject, const std::string& folder, Bytes wanted, const std::string& advice) {
    const auto free = calls_.free_space(folder);
    if (free) {
      const bool is_full = *free < k_min_space;
      const bool enough = *free >= wanted;
      add(subject,
          enough    ? Verdict::yes
          : is_full ? Verdict::no
                    : Verdict::limited,
          is_full ? folder + " is full: " + format(*free) + " free" : format(*free) + " free in " + folder,
          enough ? "" : advice);
    } else {
      add(subject, Verdict::no, folder + " is not there or may not be written", advice);
    }
    auto& facts = findings_.back().facts;
    facts.emplace_back("folder", folder);
    if (free) facts.emplace_back("free", static_cast<std::int64_t>(free->value));
  }

  const SystemFiles& files_;
  SystemCalls& calls_;
  const std::string& temporary_;
  std::vector<int> with_memory_;
  std::vector<int> with_cores_;
  std::vector<int> allowed_;
  bool filtered_ = false;
  bool refused_ = false;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  return verdict == Verdict::yes ? "yes" : verdict == Verdict::limited ? "limited" : "no";
}

std::vector<Finding> check_system(const SystemFiles& files, SystemCalls& calls, const std::string& temporary) {
  return SystemChecker(files, calls, temporary).run();
}

std::string describe(const std::vector<Finding>& findings) {
  constexpr std::size_t k_verdict = 7;  // "limited"
  std::size_t widest = 0;
  for (const auto& one : findings) widest = std::max(widest, one.subject.size());
  std::string text;
  for (const auto& one : findings) {
    const auto verdict = std::string(verdict_name(one.verdict));
    text += one.subject + std::string(widest - one.subject.size() + 2, ' ') + verdict +
            std::string(k_verdict - verdict.size() + 2, ' ') + one.found;
    if (!one.advice.empty()) text += "; " + one.advice;
    text += '\n';
  }
  return text;
}

std::string describe_json(const std::vector<Finding>& findings) {
  auto checks = nlohmann::ordered_json::array();
  for (const auto& one : findings) {
    auto facts = nlohmann::ordered_json::object();
    for (const auto& [key, fact] : one.facts)
      std::visit([&, &name = key](const auto& value) { facts[name] = value; }, fact);
    checks.push_back({{"subject", one.subject},
                      {"verdict", verdict_name(one.verdict)},
                      {"found", one.found},
                      {"advice", one.advice},
                      {"facts", std::move(facts)}});
  }
  return nlohmann::ordered_json{{"schema", 1}, {"checks", std::move(checks)}}.dump(2);
}

}  // namespace terrace::machine
