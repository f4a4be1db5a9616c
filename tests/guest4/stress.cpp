// Random stress of real memory: four processes allocate, touch, move and free under one ledger, which lets them
// have seven tenths of what each node has free; a third of the steps allocate by intent. Every few seconds they
// stop, and the accounting of each process, of the ledger and of the kernel (of each page and of each node) must
// agree. At the end all memory is released and no process was killed.
//
//   stress SECONDS [SEED]     exit status 1 when an account differs, data is damaged or a process was killed
//
// On a slow machine it goes on for up to ten times as long, until each kind of step was made k_min_steps times.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>

#include "machine/discover/discovery.hpp"
#include "memory/ledger/job_file.hpp"
#include "memory/ledger/view.hpp"
#include "stress_worker.hpp"

namespace terrace::tests {
namespace {

constexpr std::uint64_t k_min_steps = 50;         // of each kind (test_memory.py)
constexpr double k_max_stretch = 10;              // of the seconds that were asked for
constexpr double k_round = 5;                     // seconds between two comparisons, at most
constexpr int k_rounds_of_a_worker = 12;          // then it begins anew, with everything given back
constexpr std::int64_t k_own_memory = 48u << 20;  // of the processes' own, on nodes with processors

std::uint64_t number_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t value = 0;
  while (file >> word)
    if (word == key && file >> value) return value;
  throw std::runtime_error(path + " has no " + key);
}

std::uint64_t of_node(int node, const std::string& key) {
  return number_after("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo", key) << 10;
}

bool has_processors(int node) {
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  std::string list;
  return static_cast<bool>(file >> list);
}

// The kernel adds up what each processor has counted; otherwise a node's numbers may be hundreds of pages behind
// (Documentation/admin-guide/sysctl/vm.rst, stat_refresh).
void refresh_counters() { std::ofstream("/proc/sys/vm/stat_refresh") << "1\n"; }

// Seven tenths of what each node has free.
machine::Budget budget_of(const machine::Machine& machine) {
  machine::Budget budget;
  for (const auto& place : machine.places())
    budget.push_back(Bytes{of_node(place.numa_node, "MemFree:") / 10 * 7 / k_huge_page * k_huge_page});
  return budget;
}

class Stress {
 public:
  Stress(double seconds, std::uint64_t seed) : seconds_(seconds), seed_(seed) {
    if (machine_.places().size() > k_stress_places) throw std::runtime_error("the machine has too many places");
    void* const shared =
        ::mmap(nullptr, sizeof(StressAccount), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
    account_ = new (shared) StressAccount;
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder in /dev/shm");
    memory::JobDescription title{"stress", {}};
    for (std::size_t i = 0; i < budget_.size(); ++i)
      title.places.push_back({machine_.places()[i].name, budget_[i], Bytes{k_page}});
    file_.emplace(folder_, title);
  }
  ~Stress() {
    for (const auto child : children_)
      if (child > 0) ::kill(child, SIGKILL);
    file_.reset();
    std::filesystem::remove_all(folder_);
  }
  Stress(const Stress&) = delete;
  Stress& operator=(const Stress&) = delete;

  int run() {
    const auto kills = number_after("/proc/vmstat", "oom_kill");
    refresh_counters();
    for (const auto& place : machine_.places()) before_.push_back(of_node(place.numa_node, "AnonPages:"));
    for (std::size_t i = 0; i < k_stress_processes; ++i) start(i);
    const auto begin = clock_.now();
    for (bool last = false; !last;) {
      const auto until = clock_.now() + Seconds{std::min(k_round, seconds_ / 3)};
      while (clock_.now() < until) ::usleep(20000);
      count_round();
      const auto passed = clock_.now() - begin;
      last = passed >= Seconds{seconds_} && (has_enough() || passed >= Seconds{k_max_stretch * seconds_});
      compare();
      account_->ending = last;
      account_->compared = round_;
    }
    say();
    count_round();
    compare();
    for (std::size_t place = 0; place < budget_.size(); ++place) {
      expect("bytes left in the ledger", total(&StressReport::held, place), 0);
      expect("bytes left in regions", total(&StressReport::beside, place), 0);
    }
    account_->compared = round_;
    for (auto& child : children_) await(std::exchange(child, 0));
    expect("processes killed for want of memory", number_after("/proc/vmstat", "oom_kill") - kills, 0);
    std::printf("%" PRIu64 " differences\n", differences_);
    return differences_ == 0 ? 0 : 1;
  }

 private:
  void start(std::size_t index) {
    const auto parent = ::getpid();
    children_[index] = ::fork();
    if (children_[index] != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    int status = 1;
    try {
      work(index);
      status = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "stress: process %zu: %s\n", index, error.what());
    }
    ::_exit(status);
  }

  // Runs in a child: rounds of work, each ended by a count. All processes wait until all counts have been
  // compared.
  void work(std::size_t index) {
    const memory::MappedPage page(file_->path(), memory::MappedPage::Access::write);
    auto& report = account_->reports[index];
    report.process = ::getpid();
    memory::Ledger ledger(page.page(), budget_);
    StressIntents intents(machine_, ledger, static_cast<InitiatorId>(index % machine_.initiators().size()));
    std::unique_ptr<StressWorker> worker;
    for (std::uint64_t round = 1;; ++round) {
      if (!worker)
        worker = std::make_unique<StressWorker>(machine_, ledger, intents, seed_ * 1000 + round * 10 + index);
      while (account_->called < round && !account_->ending) worker->work(report);
      const bool ending = account_->ending;
      if (ending) worker->free_all();
      worker->count(report);
      account_->counted[index] = round;
      while (account_->compared < round) ::usleep(1000);
      if (ending) return;
      if (round % k_rounds_of_a_worker == 0) worker.reset();
    }
  }

  void count_round() {
    account_->called = ++round_;
    for (std::size_t i = 0; i < k_stress_processes; ++i)
      while (account_->counted[i] < round_) {
        int status = 0;
        if (::waitpid(children_[i], &status, WNOHANG) != 0) {
          children_[i] = 0;
          throw std::runtime_error("process " + std::to_string(i) + " ended, status " + std::to_string(status));
        }
        ::usleep(1000);
      }
  }

  void compare() {
    const auto view = memory::read_ledger_view(file_->page());
    expect("processes in the ledger", view ? view->processes.size() : 0, k_stress_processes);
    if (!view) return;
    refresh_counters();
    for (std::size_t place = 0; place < budget_.size(); ++place) {
      const auto node = machine_.places()[place].numa_node;
      for (const auto& process : view->processes)
        for (const auto& report : account_->reports)
          if (report.process == static_cast<std::int32_t>(process.process)) {
            expect("the ledger's bytes", process.holdings[place].held.value_or(~std::uint64_t{0}),
                   report.kernel[place]);
            expect("bytes by the process's account", report.held[place], report.kernel[place]);
            expect("bytes to be populated", process.holdings[place].outstanding.value_or(1), 0);
          }
      const auto held = total(&StressReport::kernel, place);
      expect("bytes over the budget", std::max(held, budget_[place].value) - budget_[place].value, 0);
      // All that has no file: what is held, and what processes have of their own where there are processors.
      const auto beside = total(&StressReport::beside, place);
      const auto others = static_cast<std::int64_t>(of_node(node, "AnonPages:") - before_[place] - held - beside);
      if (others < 0 || others > (has_processors(node) ? k_own_memory : 0))
        expect("bytes of nobody on node " + std::to_string(node), static_cast<std::uint64_t>(others), 0);
    }
    std::uint64_t misplaced = 0;
    std::uint64_t damaged = 0;
    for (const auto& report : account_->reports) misplaced += report.misplaced, damaged += report.damaged;
    expect("pages in other places than their chunk", misplaced, 0);
    expect("damaged pages", damaged, 0);
  }

  // One line for each that is wrong.
  void expect(const std::string& what, std::uint64_t found, std::uint64_t wanted) {
    if (found == wanted) return;
    ++differences_;
    std::printf("round %" PRIu64 ": %s: %" PRIu64 ", not %" PRIu64 "\n", round_, what.c_str(), found, wanted);
  }

  template <class Field>
  std::uint64_t total(Field field, std::size_t place) const {
    std::uint64_t sum = 0;
    for (const auto& report : account_->reports) sum += (report.*field)[place];
    return sum;
  }

  static void await(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) throw std::runtime_error("a process ended with status " + std::to_string(status));
  }

  // Returns whether all processes did enough; they wait meanwhile for the comparison of their counts.
  bool has_enough() const {
    for (const auto count : {&StressReport::allocated, &StressReport::freed, &StressReport::touched,
                             &StressReport::moved, &StressReport::intent_ranges, &StressReport::intent_freed,
                             &StressReport::intent_touched, &StressReport::intent_applied}) {
      std::uint64_t sum = 0;
      for (const auto& one : account_->reports) sum += one.*count;
      if (sum < k_min_steps) return false;
    }
    return true;
  }

  void say() const {
    StressReport sum;
    for (const auto& one : account_->reports) {
      for (const auto count :
           {&StressReport::allocated, &StressReport::without_room, &StressReport::touched, &StressReport::moved,
            &StressReport::no_room, &StressReport::refused, &StressReport::in_parts, &StressReport::freed,
            &StressReport::intent_ranges, &StressReport::intent_no_room, &StressReport::intent_freed,
            &StressReport::intent_touched, &StressReport::intent_applied, &StressReport::intent_refused})
        sum.*count += one.*count;
      if (one.last_error != 0) sum.last_error = one.last_error;
    }
    std::printf("%" PRIu64 " rounds: %" PRIu64 " objects, %" PRIu64 " without room, %" PRIu64 " freed; %" PRIu64
                " pages touched; %" PRIu64 " chunks moved, %" PRIu64 " without room, %" PRIu64
                " refused by the system (%s), %" PRIu64 " in parts\n",
                round_, sum.allocated, sum.without_room, sum.freed, sum.touched, sum.moved, sum.no_room,
                sum.refused, sum.last_error != 0 ? std::strerror(sum.last_error) : "-", sum.in_parts);
    std::printf("by intent: %" PRIu64 " ranges, %" PRIu64 " without room, %" PRIu64 " freed; %" PRIu64
                " pages touched; %" PRIu64 " applied, %" PRIu64 " refused by the system\n",
                sum.intent_ranges, sum.intent_no_room, sum.intent_freed, sum.intent_touched, sum.intent_applied,
                sum.intent_refused);
    for (std::size_t place = 0; place < budget_.size(); ++place)
      std::printf("%s: %s of %s held at the end, %s beside\n", machine_.places()[place].name.c_str(),
                  format(Bytes{total(&StressReport::kernel, place)}).c_str(), format(budget_[place]).c_str(),
                  format(Bytes{total(&StressReport::beside, place)}).c_str());
  }

  double seconds_;
  std::uint64_t seed_;
  machine::Machine machine_ = machine::discover();
  machine::Budget budget_ = budget_of(machine_);
  std::vector<std::uint64_t> before_;  // by place: memory of the node that has no file, before any process began
  std::string folder_ = "/dev/shm/terrace-stress-XXXXXX";
  std::optional<memory::JobFile> file_;
  StressAccount* account_ = nullptr;
  std::array<pid_t, k_stress_processes> children_{};
  SteadyClock clock_;
  std::uint64_t round_ = 0;
  std::uint64_t differences_ = 0;
};

}  // namespace
}  // namespace terrace::tests

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr, "stress SECONDS [SEED]\n");
    return 2;
  }
  try {
    return terrace::tests::Stress(seconds, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stress: %s\n", error.what());
    return 1;
  }
}
