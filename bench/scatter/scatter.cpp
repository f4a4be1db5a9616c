// Times independent accesses, and one chase, over growing memory. compare.py runs it natively and in virtual time,
// to compare what the simulator says of caches, misses, stores and prefetched streams with the clock.
//
//   scatter [MIN [MAX]]    logarithms of the bytes: 14 to 26
//
// A line for each kernel and footprint: KERNEL LOG2_OF_BYTES NANOSECONDS_AN_ELEMENT, the least of some rounds in
// processor time, which under `terrace simulate` is virtual.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::size_t k_keys = std::size_t{1} << 19;
constexpr int k_rounds = 4;
constexpr unsigned k_bucket_bits = 9;

double now() {
  std::timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::uint32_t next(std::uint64_t& state) {  // Knuth's linear congruential generator, its highest bits
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(state >> 32);
}

[[gnu::noinline]] std::uint32_t load(const Words& table, const Words& keys) {
  std::uint32_t sum = 0;
  for (const auto key : keys) sum += table[key];
  return sum;
}
[[gnu::noinline]] std::uint32_t store(Words& table, const Words& keys) {
  std::uint32_t i = 0;
  for (const auto key : keys) table[key] = ++i;
  return i;
}
[[gnu::noinline]] std::uint32_t increment(Words& table, const Words& keys) {
  for (const auto key : keys) ++table[key];
  return table[0];
}
// Dependent accesses: each waits for the one before.
[[gnu::noinline]] std::uint32_t chase(const Words& table, std::size_t hops) {
  std::uint32_t at = 0;
  for (std::size_t hop = 0; hop < hops; ++hop) at = table[at];
  return at;
}
// Distributes keys into buckets: a counting sort's last pass.
[[gnu::noinline]] std::uint32_t bucket(Words& out, Words& begins, const Words& keys, unsigned shift) {
  for (const auto key : keys) out[begins[key >> shift]++] = key;
  return out[0];
}

template <class Kernel>
void time_kernel(const char* name, unsigned bits, std::size_t elements, Kernel&& kernel) {
  static std::uint32_t kept = 0;
  double least = 0;
  for (int round = 0; round <= k_rounds; ++round) {  // the first one warms up
    const double begin = now();
    kept += kernel();
    const double time = now() - begin;
    if (round == 1 || (round > 1 && time < least)) least = time;
  }
  std::printf("%s %u %.4f\n", name, bits, least / static_cast<double>(elements) * 1e9);
  std::fflush(stdout);
  if (kept == 1) std::puts("");  // the compiler does not know that it is nothing
}

void link(Words& table, std::uint64_t& state) {  // one cycle through all lines, in random order
  constexpr std::uint32_t k_line = 16;
  Words order(table.size() / k_line);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[(std::uint64_t{next(state)} * (i + 1)) >> 32]);
  for (std::size_t i = 0; i < order.size(); ++i) table[order[i] * k_line] = order[(i + 1) % order.size()] * k_line;
}

void scatter(unsigned bits) {
  std::uint64_t state = 1;
  Words table(std::size_t{1} << (bits - 2));
  Words keys(k_keys);
  for (auto& key : keys) key = next(state) >> (34 - bits);
  time_kernel("load", bits, k_keys, [&] { return load(table, keys); });
  time_kernel("store", bits, k_keys, [&] { return store(table, keys); });
  time_kernel("increment", bits, k_keys, [&] { return increment(table, keys); });
  link(table, state);
  const auto hops = std::max(table.size() / 16, k_keys / 8);
  time_kernel("chase", bits, hops, [&] { return chase(table, hops); });
}

// Sorts as many keys as fill the memory. Their sizes are drawn as in NPB IS: the mean of four random numbers.
void sort(unsigned bits) {
  std::uint64_t state = 1;
  Words keys(std::size_t{1} << (bits - 2));
  for (auto& key : keys) {
    std::uint64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += next(state);
    key = static_cast<std::uint32_t>(sum / 4);
  }
  Words out(keys.size()), sizes(std::size_t{1} << k_bucket_bits), begins(sizes.size());
  for (const auto key : keys) ++sizes[key >> (32 - k_bucket_bits)];
  time_kernel("bucket", bits, keys.size(), [&] {
    std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0u);
    return bucket(out, begins, keys, 32 - k_bucket_bits);
  });
}

}  // namespace

int main(int count, char** words) {
  const auto least = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 14;
  const auto most = count > 2 ? static_cast<unsigned>(std::atoi(words[2])) : 26;
  if (least < 10 || most > 30)
    return std::fputs("scatter: MIN and MAX are logarithms of bytes, from 10 to 30\n", stderr), 2;
  for (unsigned bits = least; bits <= most; bits += 2) {
    scatter(bits);
    sort(bits);
  }
}
