// Measures single requests on an empty PIM device, and a search that finds nothing and has to look everywhere; a
// section of pim_bench.
#include <vector>

#include "core/error.hpp"
#include "sections.hpp"
#include "threads.hpp"

namespace terrace::pim::bench {
namespace {

constexpr const char* k_section = "micro";

// Takes single units so that there is no room for 64 x 16 anywhere, while every row has 64 free subarrays on end
// and every subarray 127 free rows: neither vector of the paper excludes anything. In rows and subarrays of any 64
// x 16 lies one where row + 5 x subarray is a multiple of 128: 16 subarrays spread these over 75 of 128 rows.
template <typename Subject>
void scatter(Subject& subject) {
  std::vector<typename Subject::Token> all;
  while (auto token = subject.take(Work::of({1, 1}, Dim::horizontal))) all.push_back(token);
  for (auto& token : all) {
    const auto block = subject.block(token);
    if ((block->row + 5 * block->subarray) % 128 != 0) subject.give(token);
  }
}

template <typename Subject>
double pair_ns(Subject& subject, const Work& work, int count) {
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i) {
    if (const auto token = subject.take(work)) subject.give(token);
  }
  return nanoseconds(Clock::now() - begin) / count;
}

}  // namespace

void micro(const Settings& settings, Report& report) {
  struct Single {
    const char* name;
    Work work;
    bool fails = false;
    bool first =
        false;  // timed only once on a device: what found no room is remembered until something is released
  };
  const std::vector<Single> all{{"1 x 128 and its release", Work::of({1, 128}, Dim::horizontal)},
                                {"1024 x 1 and its release", Work::of({1024, 1}, Dim::vertical)},
                                {"64 x 16, nowhere", Work::of({64, 16}, Dim::horizontal), true, true},
                                {"64 x 16, asked again", Work::of({64, 16}, Dim::horizontal), true}};
  for (const auto& single : all) {
    const auto& work = single.work;
    for (int round = 0; round < settings.rounds; ++round) {
      for (const auto contender : in_turn({Contender::terrace, Contender::paper}, round)) {
        const auto ns = with(contender, [&](auto& subject) {
          if (single.fails) scatter(subject);
          if (single.first) return pair_ns(subject, work, 1);
          const auto token = subject.take(work);
          if (bool(token) == single.fails) throw Error(Code::failed, std::string("micro: ") + single.name);
          if (token) subject.give(token);
          const auto once = std::max(pair_ns(subject, work, 3), 1.0);
          return pair_ns(subject, work, static_cast<int>(std::max((settings.quick ? 2e6 : 10e6) / once, 3.0)));
        });
        report.add({k_section, single.name, name_of(contender), "time"}, "ns", ns);
      }
    }
  }
  report.table(k_section, "time", "time");
}

}  // namespace terrace::pim::bench
