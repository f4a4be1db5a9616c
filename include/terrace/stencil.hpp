// SPDX-License-Identifier: Apache-2.0
// Stencil programs on structured meshes, larger than the fast memory too.
//
//   using namespace terrace::stencil;
//   Context context;
//   auto grid = context.block("grid", {nx, ny});
//   auto u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
//   auto v = grid.dataset<double>("v", {{-1, -1}, {1, 1}});
//   auto change = context.maximum<double>();
//   grid.loop("jacobi", grid.range(), [](auto u, auto v, auto change) {
//     v() = 0.25 * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1));
//     change(std::abs(v() - u()));
//   }, read(u, star(2, 1)), write(v), into(change));
//   if (change.value() < 1e-6) ...
//
// A loop says which datasets it reads and writes, and at which offsets. So its points may be computed in any
// order, and loops need not run when they are called: they wait, in a chain, until something is asked back (a
// reduction, a dataset's numbers). Then the chain's dependencies are known, and it runs in pieces that go through
// all its loops while their data are in the fast memory: a processor's cache, or memory where the data are in
// files. Results do not depend on the pieces, nor on the number of threads. On several processes the same program
// runs by terrace/stencil/mpi.hpp.
#pragma once

#include "terrace/stencil/context.hpp"
#include "terrace/stencil/grid.hpp"
#include "terrace/stencil/options.hpp"
#include "terrace/stencil/statistics.hpp"
