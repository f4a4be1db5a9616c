// Measures a request and its release over and over in several threads (the second benchmark of MCHPC'17, in all
// configurations of its table 2), a section of pim_bench. The paper's vertical series are as short as 16 requests:
// here a series is repeated inside the threads, as often for each contender as it takes to be measured.
//
// The bytes of a vertical request can be read in two ways: as an area (a row of a subarray holds them all), or as
// the depth of one column, a bit in each row, which "the limited memory available in each column" suggests (8
// bytes are 64 rows then, 128 bytes all 1,024). Both are measured.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <map>
#include <vector>

#include "core/error.hpp"
#include "sections.hpp"
#include "threads.hpp"

namespace terrace::pim::bench {
namespace {

constexpr const char* k_section = "malloc-test";
constexpr unsigned k_threads[] = {1, 2, 4, 8};
constexpr std::uint64_t k_warm_up = 32;  // requests of a thread before it begins

unsigned cores() { return std::thread::hardware_concurrency(); }

struct Series {
  std::string name;
  Work work;
  bool first = false;                        // of its kind
  std::uint64_t (*requests)(unsigned) = {};  // of each thread, in the paper
};

std::vector<Series> table_2(bool quick) {
  std::vector<Series> all;
  const auto add = [&](const char* name, const std::vector<std::size_t>& sizes, Work work, auto requests) {
    for (const auto bytes : sizes) {
      work.bytes = bytes;
      all.push_back({fmt::format("{}, {} B", name, bytes), work, bytes == sizes.front(), requests});
    }
  };
  using Sizes = std::vector<std::size_t>;
  const auto horizontal = quick ? Sizes{8, 4096} : Sizes{8, 64, 128, 512, 1024, 4096};
  const auto vertical = quick ? Sizes{8, 128} : Sizes{8, 16, 32, 64, 128};
  const auto of_vertical = [](unsigned threads) { return std::uint64_t{128 / threads}; };
  add("horizontal", horizontal, {.as = Work::As::area, .dim = Dim::horizontal},
      [](unsigned) { return std::uint64_t{10000}; });
  add("vertical as area", vertical, {.as = Work::As::area, .dim = Dim::vertical}, of_vertical);
  add("vertical as column", vertical, {.as = Work::As::column, .dim = Dim::vertical}, of_vertical);
  return all;
}

Timed measured(Contender contender, unsigned threads, std::uint64_t requests, const Work& work) {
  return with(contender, [&](auto& subject) {
    std::atomic<std::uint64_t> failed = 0;
    const auto loop = [&](std::uint64_t count) {
      std::uint64_t none = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto token = subject.take(work);
        if (token)
          subject.give(token);
        else
          ++none;
      }
      failed += none;
    };
    const auto timed = in_threads(
        threads, [&](unsigned) { loop(std::min(k_warm_up, requests)); }, [&](unsigned) { loop(requests); });
    if (failed > 0)
      throw Error(Code::failed,
                  fmt::format("malloc-test: {} requests of {} failed", failed.load(), name_of(contender)));
    return timed;
  });
}

constexpr double k_late = 0.05;

bool undisturbed(const Timed& timed) { return timed.late <= k_late && timed.interrupted == 0; }

// Excludes the influence of other work on the processors. As long as there are cores for all threads, the
// measurement is repeated until all threads began together and none was interrupted; the best trial counts. A
// thread that waits for another one's lock is not interrupted. More threads than cores interrupt each other: of a
// few trials the shortest counts. Trials end when they have taken 40 times `ns`.
Timed min_disturbed(Contender contender, unsigned threads, std::uint64_t requests, const Work& work, double ns) {
  const bool enough_cores = threads <= cores();
  const auto rank = [&](const Timed& timed) {
    return enough_cores ? std::pair{timed.late <= k_late, -static_cast<double>(timed.interrupted)}
                        : std::pair{true, -timed.total_ns};
  };
  const auto begin = Clock::now();
  auto best = measured(contender, threads, requests, work);
  for (int i = 1; i < (enough_cores ? 20 : 4) && !undisturbed(best); ++i) {
    if (nanoseconds(Clock::now() - begin) > 40 * ns) break;
    const auto next = measured(contender, threads, requests, work);
    if (rank(next) > rank(best)) best = next;
  }
  return best;
}

// Returns the requests of a thread: the series, repeated until it takes about `ns`; fewer if it alone takes 40
// times as long.
std::uint64_t enough(Contender contender, unsigned threads, std::uint64_t requests, const Work& work, double ns) {
  const auto probe = std::min<std::uint64_t>(requests, contender <= Contender::paper_all ? 32 : 1000);
  const auto each = measured(contender, threads, probe, work).wall_ns / static_cast<double>(probe);
  const auto series = each * static_cast<double>(requests);
  if (series > 40 * ns) return std::max<std::uint64_t>(16, static_cast<std::uint64_t>(40 * ns / each));
  return requests * std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(ns / series)));
}

void compare(const Series& series, const Settings& settings, Report& report) {
  const double ns = settings.quick ? 1e6 : 2e6;
  auto contenders = present({Contender::terrace, Contender::paper, Contender::paper_all, Contender::glibc,
                             Contender::jemalloc, Contender::mimalloc, Contender::apart, Contender::control});
  if (!series.first) std::erase(contenders, Contender::paper_all);  // it takes seconds, whatever the size
  std::map<std::pair<Contender, unsigned>, std::uint64_t> lengths;
  for (int round = 0; round < settings.rounds; ++round) {
    for (const auto contender : in_turn(contenders, round)) {
      for (const auto threads : k_threads) {
        auto& length = lengths[{contender, threads}];
        const double long_enough =
            threads > cores() ? 2 * ns : ns;  // the threads share processors: a time slice is long
        if (length == 0) length = enough(contender, threads, series.requests(threads), series.work, long_enough);
        const auto timed = min_disturbed(contender, threads, length, series.work, ns);
        const auto add = [&](const char* measure, const char* unit, double sample) {
          report.add({k_section, series.name, name_of(contender), measure, threads}, unit, sample);
        };
        const auto requests = static_cast<double>(length);
        add("request", "ns", timed.wall_ns / requests);
        add("processor", "ns", timed.processor_ns / requests);
        add("throughput", "1/s", requests * threads / timed.total_ns * 1e9);
        add("requests", "a thread", requests);
        if (threads <= cores()) add("undisturbed", "%", undisturbed(timed) ? 100 : 0);
      }
    }
  }
  const auto request = [&](Contender contender) {
    return Key{k_section, series.name, name_of(contender), "request", 2};
  };
  report.ratio({k_section, series.name, name_of(Contender::terrace), "sharing", 2}, "%",
               request(Contender::terrace), request(Contender::apart), 100, -100);
  for (const auto contender : contenders) {
    const auto key = [&](const char* measure, unsigned threads) {
      return Key{k_section, series.name, name_of(contender), measure, threads};
    };
    report.ratio(key("growth", 2), "%", key("request", 2), key("request", 1), 100, -100);
    report.ratio(key("processor growth", 2), "%", key("processor", 2), key("processor", 1), 100, -100);
    for (const auto threads : {4u, 8u}) {
      report.ratio(key("against 2 threads", threads), "x", key("throughput", threads), key("throughput", 2));
      report.ratio(key("processor against 2 threads", threads), "x", key("processor", threads),
                   key("processor", 2));
    }
    if (contender != Contender::terrace && contender != Contender::apart && contender != Contender::control) {
      for (const auto threads : k_threads)
        report.ratio(key("terrace over", threads), "x",
                     {k_section, series.name, name_of(Contender::terrace), "throughput", threads},
                     key("throughput", threads));
    }
  }
}

}  // namespace

void malloc_test(const Settings& settings, Report& report) {
  for (const auto& series : table_2(settings.quick)) compare(series, settings, report);
  fmt::print(
      "\nVertical bytes \"as area\": 1 row of 1 subarray; \"as column\": down one column, 8 rows for a byte.\n");
  report.table(k_section, "request", "time of a thread for a request and its release");
  report.table(k_section, "growth", "% that takes longer in 2 threads than in 1");
  report.table(k_section, "sharing", "% that two threads take longer with one device than with one each");
  report.table(k_section, "processor growth", "% more of a processor's time in 2 threads than in 1");
  report.table(k_section, "throughput", "requests a second, of all threads");
  report.table(k_section, "against 2 threads", "throughput over that of 2 threads");
  report.table(k_section, "undisturbed", "% of the rounds in which nothing interrupted the threads");
  report.table(k_section, "terrace over", "throughput of Terrace over that of each");
}

}  // namespace terrace::pim::bench
