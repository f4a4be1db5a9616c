// SPDX-License-Identifier: Apache-2.0
// Declares the stencil library, the header that programs include: loops over structured meshes run tiled and out
// of core, for data larger than the fast memory.
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
// A loop declares which datasets it reads and writes, and at which offsets, so its points may be computed in
// any order. Execution is lazy: loops are queued in a chain until the program asks for a result (a reduction,
// or the values of a dataset). Then all dependencies of the chain are known, and it runs in tiles that execute
// all loops while their data are in the fast memory: a processor's cache, or main memory where the data are in
// files. Results do not depend on the tiles, nor on the number of threads. With terrace/stencil/mpi.hpp the
// same program runs on several processes.
#pragma once

#include "terrace/stencil/context.hpp"
#include "terrace/stencil/grid.hpp"
#include "terrace/stencil/options.hpp"
#include "terrace/stencil/statistics.hpp"
