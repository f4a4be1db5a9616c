// SPDX-License-Identifier: Apache-2.0
// Measures the constants of Unimem's model for a machine: STREAM and a pointer chase run on each of its places in
// virtual time, counted by the sampling collector as any program is. The launcher calls it at every start for
// which its cache has no result (cli/calibration_cache.hpp).
//
//   peak_bandwidth  eq. 1 of triad and copy with as many cores as the initiator has (the paper's "maximum memory
//                   concurrency"): sampled bytes / (samples with access / samples x time)
//   cf_bandwidth    time that the same kernels gain on the domain's fastest place over this one, run by as many
//                   cores as the program has, over what eq. 2 predicts for the sampled lines:
//                   (read / read bandwidth + written / write bandwidth) here less the same there
//   cf_latency      the same for the chase and eq. 3: sampled lines x (latency here - latency there)
//
// If the two places differ by less than 5 % in what an equation depends on, its gain carries no information. The
// constant is then the measured time over the predicted time on the place itself (the paper's own definition).
#pragma once

#include "machine/machine.hpp"
#include "model/calibration.hpp"

namespace terrace::sim {

// Returns the constants by place. Places that the initiator has no path to keep the defaults. Throws as
// VirtualMachine does.
model::Calibration measure_calibration(const machine::Machine& machine, InitiatorId initiator, double cores);

}  // namespace terrace::sim
