// NPB MG: V-cycles of a multigrid solver for the Poisson equation A u = v on a periodic cube.
// Source: Bailey et al., RNR-94-007 (1994), section 2.3.2.
//
// As in the benchmark, u and r are one array each over all levels, v has the finest level alone. An iteration
// is a V-cycle and the residual after it; each operator on each level is a phase, named "rprj3.7" (from level
// 7 to 6), "psinv.1", "interp.2", "resid.2" and so on; level k has 2^k points a side.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/npb.hpp"
#include "mg/charges.hpp"
#include "mg/problems.hpp"

namespace mg {

/// Points a side of level `level`, ghosts included.
int line_of(int level) { return (1 << level) + 2; }

std::size_t points_of(int level) { return Grid{nullptr, line_of(level)}.points(); }

/// All levels' points, as the arrays u and r hold them.
std::size_t points_up_to(int finest) {
  std::size_t points = 0;
  for (int level = 1; level <= finest; ++level) points += points_of(level);
  return points;
}

/// The grids in an array over all levels, the finest first. grids[0] is not used.
std::vector<Grid> grids_in(std::vector<double>& array, int finest) {
  std::vector<Grid> grids(static_cast<std::size_t>(finest) + 1);
  double* data = array.data();
  for (int level = finest; level >= 1; --level) {
    grids[level] = {data, line_of(level)};
    data += points_of(level);
  }
  return grids;
}

/// Marks the phase of `operation` on `level`.
void mark(const char* operation, int level) {
  workloads::phase((std::string(operation) + '.' + std::to_string(level)).c_str());
}

/// One V-cycle: improves u, for which r is the residual.
[[gnu::noinline]] void v_cycle(const std::vector<Grid>& u, Grid v, const std::vector<Grid>& r,
                               const Stencil& smoother) {
  const int finest = static_cast<int>(u.size()) - 1;
  for (int level = finest; level > 1; --level) {
    mark("rprj3", level);
    rprj3(r[level], r[level - 1]);
  }
  mark("psinv", 1);
  fill_zero(u[1]);
  psinv(r[1], u[1], smoother);
  for (int level = 2; level <= finest; ++level) {
    const bool top = level == finest;
    mark("interp", level);
    if (!top) fill_zero(u[level]);
    interp(u[level - 1], u[level]);
    mark("resid", level);
    resid(u[level], top ? v : r[level], r[level]);
    mark("psinv", level);
    psinv(r[level], u[level], smoother);
  }
}

int run(const workloads::NpbArguments& arguments) {
  const Problem& problem = problem_of(arguments.problem_class);
  const int finest = std::countr_zero(static_cast<unsigned>(problem.side));
  std::vector<double> u_array(points_up_to(finest));
  std::vector<double> v_array(points_of(finest));
  std::vector<double> r_array(points_up_to(finest));
  const std::vector<Grid> u = grids_in(u_array, finest);
  const Grid v{v_array.data(), line_of(finest)};
  const std::vector<Grid> r = grids_in(r_array, finest);

  // The benchmark runs one iteration before it starts its clock, then begins again.
  zran3(v);
  resid(u[finest], v, r[finest]);
  v_cycle(u, v, r, problem.smoother);
  resid(u[finest], v, r[finest]);
  fill_zero(u[finest]);
  zran3(v);

  double verified_norm = 0.0;
  const double begin = workloads::seconds();
  resid(u[finest], v, r[finest]);
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 1; iteration <= arguments.iterations; ++iteration) {
    v_cycle(u, v, r, problem.smoother);
    workloads::phase("residual");
    resid(u[finest], v, r[finest]);
    // The norm that is verified belongs to the timed section; when iterations follow, to the last phase.
    if (iteration == problem.iterations) verified_norm = norm(r[finest]);
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  return workloads::report({.name = "MG",
                            .problem_class = problem.name,
                            .size = size_of(problem),
                            .iterations = arguments.iterations,
                            .official_iterations = problem.iterations,
                            .seconds = end - begin,
                            .operations = operations(problem, arguments.iterations),
                            .quantity = "L2 norm",
                            .value = verified_norm,
                            .reference = problem.norm,
                            .tolerance = 1e-8});
}

}  // namespace mg

int main(int argc, char** argv) {
  return mg::run(
      workloads::parse_npb_arguments(argc, argv, "mg", "NPB MG: multigrid V-cycles on a periodic cube",
                                     [](char problem_class) { return mg::problem_of(problem_class).iterations; }));
}
