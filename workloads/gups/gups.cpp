// GUPS: random updates of a table. Source: the RandomAccess benchmark of the HPC Challenge (Luszczek et al.,
// "Introduction to the HPC Challenge benchmark suite", 2005): 4 updates for each word of the table, word
// a mod size ^= a, where a runs through the sequence a = x a over GF(2), modulo x^64 + x^2 + x + 1.
//
// An iteration is one update for each word. XOR is its own inverse, so the same updates once more must leave the
// table as it was. Threads race without locks, as the benchmark allows: up to 1 % of the words may be wrong then.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace gups {

constexpr std::uint64_t k_polynomial = 7;

struct Settings {
  std::uint64_t size = std::uint64_t{64} << 20;  // bytes
  std::uint64_t iterations = 4;
  std::uint64_t threads = 1;
};

/// a times x.
std::uint64_t step(std::uint64_t a) { return (a << 1) ^ ((a >> 63) != 0 ? k_polynomial : 0); }

/// a times b.
std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  for (; b != 0; b >>= 1, a = step(a)) {
    if ((b & 1) != 0) product ^= a;
  }
  return product;
}

/// Number n of the sequence: x^n.
std::uint64_t sequence_at(std::uint64_t n) {
  std::uint64_t power = 1;
  for (std::uint64_t square = 2; n != 0; n >>= 1, square = multiply(square, square)) {
    if ((n & 1) != 0) power = multiply(power, square);
  }
  return power;
}

/// Updates with the numbers [first, first + count) of the sequence. Never inlined, to keep its name at run time.
[[gnu::noinline]] void update(std::vector<std::uint64_t>& table, std::uint64_t first, std::uint64_t count) {
  std::uint64_t* const words = table.data();
  const std::uint64_t mask = table.size() - 1;
  // Each chunk finds its own start, so that threads can share them.
  constexpr std::uint64_t k_chunk = 1 << 16;
  const std::uint64_t chunks = (count + k_chunk - 1) / k_chunk;
#pragma omp parallel for schedule(static)
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::uint64_t begin = chunk * k_chunk;
    const std::uint64_t end = begin + k_chunk < count ? begin + k_chunk : count;
    std::uint64_t a = sequence_at(first + begin);
    for (std::uint64_t i = begin; i < end; ++i) {
      a = step(a);
      words[a & mask] ^= a;
    }
  }
}

int run(const Settings& settings) {
  std::vector<std::uint64_t> table(settings.size / sizeof(std::uint64_t));
  for (std::uint64_t i = 0; i < table.size(); ++i) table[i] = i;

  const std::uint64_t updates = settings.iterations * table.size();
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    workloads::phase("update");
    update(table, iteration * table.size(), table.size());
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  // As in the benchmark, one thread repeats the updates, and wrong words are counted.
  std::uint64_t a = 1;
  for (std::uint64_t i = 0; i < updates; ++i) {
    a = step(a);
    table[a & (table.size() - 1)] ^= a;
  }
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < table.size(); ++i) wrong += table[i] != i ? 1 : 0;
  const bool verified = settings.threads == 1 ? wrong == 0 : wrong * 100 <= table.size();

  std::printf("GUPS: a table of %zu bytes, %llu updates\n", table.size() * sizeof(std::uint64_t),
              static_cast<unsigned long long>(updates));
  std::printf("Time %14.9f s %14.9f billion updates a second\n", end - begin,
              static_cast<double>(updates) / (end - begin) * 1e-9);
  std::printf("Wrong words %llu of %zu\n", static_cast<unsigned long long>(wrong), table.size());
  return workloads::verdict(verified);
}

}  // namespace gups

int main(int argc, char** argv) {
  gups::Settings settings;
  workloads::Options options("gups", "HPC Challenge random update of a table");
  options.bytes("--size", &settings.size, "size of the table, a power of two");
  options.count("--iterations", &settings.iterations, "updates per word of the table");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.size < 8 || !std::has_single_bit(settings.size)) {
    options.fail("--size: a power of two, at least 8 bytes");
  }
  return gups::run(settings);
}
