// Random reads of a table and sweeps over a field: the table deserves a memory of low latency, the field does not.
#include <cstdint>
#include <cstdio>
#include <vector>

std::uint64_t look_up(const std::vector<std::uint64_t>& table, std::uint64_t at, int count) {
  for (int i = 0; i < count; ++i) at = table[at];  // each read depends on the one before
  return at;
}

double sweep(std::vector<double>& field) {
  double sum = 0;
  for (double& value : field) sum += value = 0.5 * value + 1.0;
  return sum;
}

int main() {
  constexpr std::uint64_t entries = 1 << 18;  // a power of two: the generator below visits each entry once
  std::vector<std::uint64_t> table(entries);
  std::vector<double> field(1 << 20);
  for (std::uint64_t i = 0; i < entries; ++i) table[i] = (5 * i + 12345) % entries;
  double sum = 0;
  std::uint64_t at = 1;
  for (int iteration = 0; iteration < 10; ++iteration) {
    at = look_up(table, at, 200000);
    sum += sweep(field);
  }
  std::printf("at %llu, sum %.0f\n", static_cast<unsigned long long>(at), sum);
}
