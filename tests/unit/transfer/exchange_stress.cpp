// exchange_stress SECONDS [COPYING THREADS]: runs the stress of exchange_stress.hpp; exit status 1 after a lost
// write.
#include "exchange_stress.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr, "exchange_stress SECONDS [COPYING THREADS]\n");
    return 2;
  }
  try {
    terrace::tests::ExchangeStress stress(argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 1);
    const auto counts = stress.run(std::chrono::duration<double>(seconds));
    std::printf("%" PRIu64 " exchanges, %" PRIu64 " skipped; %" PRIu64 " increments, %" PRIu64
                " system calls, %" PRIu64 " pages swapped out; %" PRIu64 " lost\n",
                counts.exchanges, counts.skipped, counts.increments, counts.calls, counts.paged_out, counts.lost);
    return counts.lost == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exchange_stress: %s\n", error.what());
    return 1;
  }
}
