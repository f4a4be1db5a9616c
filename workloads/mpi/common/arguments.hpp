// SPDX-License-Identifier: Apache-2.0
// Parses the command line of those MPI workloads that are not NPB's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/options.hpp"
#include "mpi/common/environment.hpp"

namespace workloads {

struct MpiArguments {
  std::size_t number_of_class;  // 0, 1 or 2: S, W or A
  std::uint64_t iterations;
};

/// Parses --class S|W|A and --iterations, whose default is `iterations`. Exits 2 on a wrong call.
inline MpiArguments parse_mpi_arguments(int argc, char** argv, const MpiEnvironment& mpi,
                                        const std::string& program, const std::string& summary,
                                        std::uint64_t iterations) {
  std::string problem_class = "S";
  Options options(program, summary);
  if (!mpi.prints()) options.silence();
  options.text("--class", &problem_class, "problem class: S, W or A");
  options.count("--iterations", &iterations, "how many to run; each result is verified");
  options.parse(argc, argv);
  const std::size_t found = std::string_view("SWA").find(problem_class);
  if (problem_class.size() != 1 || found == std::string_view::npos)
    options.fail("--class: expected S, W or A, found '" + problem_class + "'");
  return {found, iterations};
}

}  // namespace workloads
