// An unmodified Kokkos program: labelled Views, all kinds of kernels, a region around the steps.
#include <Kokkos_Core.hpp>
#include <cstdio>

extern "C" {
#include "work.h"
}

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  {
    const int count = 1 << 20;
    Kokkos::View<double*> x("x", count), y("y", count);
    double sum = 0;
    Kokkos::Profiling::pushRegion("steps");
    for (int step = 0; step < 6; ++step) {
      Kokkos::parallel_for(
          "axpy", count, KOKKOS_LAMBDA(int i) { x(i) += 2 * y(i) + 1; });
      Kokkos::parallel_for(
          "smooth", 1, KOKKOS_LAMBDA(int) { work(y.data(), count); });
      Kokkos::parallel_reduce(
          "dot", count, KOKKOS_LAMBDA(int i, double& part) { part += x(i) * y(i); }, sum);
      Kokkos::parallel_scan(
          "prefix", count, KOKKOS_LAMBDA(int i, double& part, bool last) {
            part += x(i);
            if (last) y(i) = part * 1e-9;
          });
    }
    Kokkos::Profiling::popRegion();
    std::printf("%d\n", sum > 0 ? 1 : 0);
  }
  Kokkos::finalize();
  return 0;
}
