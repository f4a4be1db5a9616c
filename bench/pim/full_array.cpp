// Measures filling a PIM device with blocks of one size (the first benchmark of MCHPC'17, "Bit contiguous memory
// allocation for processing in memory"), a section of pim_bench. Vertically the paper names 128 blocks of
// 67,108,864 bytes, eight times what its device of 1 GiB holds; here all contenders allocate 128 blocks of 64
// Mibit (8 MiB), which fit.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "core/error.hpp"
#include "sections.hpp"
#include "threads.hpp"

namespace terrace::pim::bench {
namespace {

constexpr const char* k_section = "full array";
constexpr int k_passes = 4;  // the first in a new process, the others in a used one

struct Series {
  std::string name;
  std::size_t count;
  Work work;
};

struct Pass {
  double take_ns = 0, give_ns = 0;
};
struct Filled {
  Pass passes[k_passes];
  double occupancy = 0;  // of the device; for a malloc, of the requests
  bool full = false;     // another block like these is refused
};

template <typename Subject>
Filled fill(Subject& subject, const Series& series) {
  Filled filled;
  std::vector<typename Subject::Token> tokens(series.count);
  for (auto& pass : filled.passes) {
    const auto begin = Clock::now();
    for (auto& token : tokens) token = subject.take(series.work);
    const auto taken = Clock::now();
    const auto given = std::count_if(tokens.begin(), tokens.end(), [](const auto& token) { return bool(token); });
    filled.occupancy = static_cast<double>(given) / static_cast<double>(series.count);
    if (subject.block(tokens.front())) {
      const auto more = subject.take(series.work);
      filled.full = !more;
      if (more) subject.give(more);
    }
    const auto freeing = Clock::now();
    for (auto& token : tokens)
      if (token) subject.give(token);
    pass = {nanoseconds(taken - begin), nanoseconds(Clock::now() - freeing)};
  }
  return filled;
}

// Fills the device in a child process, so that each contender begins in a new process.
Filled fill_apart(Contender contender, const Series& series) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(Code::failed, "no pipe to a child process");
  const auto child = fork();
  if (child < 0) throw Error(Code::failed, "no child process");
  if (child == 0) {
    const auto filled = with(contender, [&](auto& subject) { return fill(subject, series); });
    _exit(write(ends[1], &filled, sizeof filled) == sizeof filled ? 0 : 1);
  }
  close(ends[1]);
  Filled filled;
  const auto got = read(ends[0], &filled, sizeof filled);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got != sizeof filled || status != 0) throw Error(Code::failed, "filling the array ended early");
  return filled;
}

}  // namespace

void full_array(const Settings& settings, Report& report) {
  const std::vector<Series> all{
      {"horizontal, 1024 x 1 MiB", 1024, {.dim = Dim::horizontal, .bytes = std::size_t{1} << 20}},
      {"vertical, 128 x 64 Mibit", 128, {.dim = Dim::vertical, .bytes = std::size_t{8} << 20}}};
  const auto contenders = present({Contender::terrace, Contender::paper, Contender::paper_all, Contender::glibc,
                                   Contender::jemalloc, Contender::mimalloc});
  for (const auto& series : all) {
    for (int round = 0; round < settings.rounds; ++round) {
      for (const auto contender : in_turn(contenders, round)) {
        if (contender == Contender::paper_all && round >= 5) continue;  // it takes seconds
        const auto filled = fill_apart(contender, series);
        const auto add = [&](const char* measure, const char* unit, double sample) {
          report.add({k_section, series.name, name_of(contender), measure}, unit, sample);
        };
        std::vector<double> take, give;
        for (const auto& pass : filled.passes) {
          take.push_back(pass.take_ns);
          give.push_back(pass.give_ns);
        }
        add("new total", "ns", take.front());
        add("new freeing", "ns", give.front());
        take.erase(take.begin());
        give.erase(give.begin());
        const auto count = static_cast<double>(series.count);
        add("total", "ns", spread_of(take).median);
        add("request", "ns", spread_of(take).median / count);
        add("freeing", "ns", spread_of(give).median / count);
        add("occupancy", "%", filled.occupancy * 100);
        if (contender <= Contender::paper_all) add("full", "1 is yes", filled.full ? 1 : 0);
      }
    }
  }
  fmt::print(
      "\nThe vertical blocks: 64 MiB, as printed, are eight times the device; 64 Mibit (8 MiB) fill it.\n"
      "Each run in a process of its own: \"new\" is its first filling, the others come after that.\n");
  report.table(k_section, "new total", "time to fill it in a new process");
  report.table(k_section, "total", "time to fill it again");
  report.table(k_section, "request", "time of a request, filling again");
  report.table(k_section, "new freeing", "time to free it all in a new process");
  report.table(k_section, "freeing", "time to free a block, after filling again, oldest first");
  report.table(k_section, "occupancy", "% of the device when it is full (for a malloc: of the requests)");
}

}  // namespace terrace::pim::bench
