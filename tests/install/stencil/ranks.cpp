// Compares Jacobi's iterations on the processes of MPI with those in one process. Exits 1 if a number differs.
#include <cstdio>
#include <terrace/stencil/mpi.hpp>
#include <utility>
#include <vector>

using namespace terrace::stencil;

static std::vector<double> iterate(Context context) {
  const auto grid = context.block("grid", {60, 50});
  auto u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
  auto next = grid.dataset<double>("next", {{-1, -1}, {1, 1}});
  grid.loop(
      "start", grid.range(), [](auto to, auto at) { to() = at[0] * at[0] - 3.0 * at[1]; }, write(u), index());
  for (int i = 0; i < 10; ++i) {
    grid.loop(
        "sweep", grid.range(),
        [](auto to, auto from) { to() = 0.25 * (from(-1, 0) + from(1, 0) + from(0, -1) + from(0, 1)); },
        write(next), read(u, star(2, 1)));
    std::swap(u, next);
  }
  auto sum = context.sum<double>();
  grid.loop(
      "sum", grid.range(), [](auto at, auto all) { all += at(); }, read(u), into(sum));
  auto numbers = u.get(grid.range());
  numbers.push_back(sum.value());
  return numbers;
}

int main(int count, char** words) {
  int provided = 0, ranks = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  options.threads = 1;
  const bool same = iterate(distributed(MPI_COMM_WORLD, options)) == iterate(Context(options));
  if (!same || ranks < 2) std::printf("broken: %s\n", same ? "one rank alone" : "other numbers");
  MPI_Finalize();
  return same && ranks > 1 ? 0 : 1;
}
