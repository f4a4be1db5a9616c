// Starts terrace-stencils-mpi on the ranks that MPI has started, with a distributed context. See launch.hpp.
#include <chrono>
#include <cstdio>
#include <thread>

#include "terrace/stencil/mpi.hpp"
#include "workloads/stencils/launch.hpp"

namespace terrace::stencil::programs {
namespace {

constexpr int k_patience_ms = 2000;                   // in case other ranks fail, too
constexpr std::chrono::milliseconds k_printing(200);  // until the process manager has forwarded the output

}  // namespace

Launch::Launch(int& count, char**& words) {
  int provided = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
}
Launch::~Launch() { MPI_Finalize(); }
Context Launch::context() const { return distributed(MPI_COMM_WORLD); }
std::size_t Launch::ranks() const {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return static_cast<std::size_t>(size);
}
bool Launch::is_first() const {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}
int Launch::failed(const char* text, int status) const {
  const auto print = [&] { std::fprintf(stderr, "terrace-stencils: %s\n", text); };
  if (is_first()) print();
  // A usage error occurs on all ranks: they end in order, and the message is printed once. A rank that fails
  // alone aborts those that wait for it.
  MPI_Request all = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (int waited = 0; waited < k_patience_ms; ++waited) {
    int are_here = 0;
    MPI_Test(&all, &are_here, MPI_STATUS_IGNORE);
    if (are_here != 0) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!is_first()) print();
  std::this_thread::sleep_for(k_printing);
  MPI_Abort(MPI_COMM_WORLD, status);
  return status;
}

}  // namespace terrace::stencil::programs
