// SPDX-License-Identifier: Apache-2.0
// Summarises the measured gain of a plan (its proof: iterations with the plan against iterations without), for the
// launcher's closing line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/units.hpp"

namespace terrace::cli {

struct ProofSummary {
  Seconds without, with;  // medians of iterations; 0: no iterations
  std::int64_t iterations_without = 0, iterations_with = 0;
  Seconds predicted_unplaced, predicted;  // 0: the plan has no prediction
  bool undone = false;
  bool is_noise = false;  // the two times differ by no more than iterations do by chance

  // Return the gain as a share of an iteration without the plan; nullopt if a time is unknown.
  [[nodiscard]] std::optional<double> gained() const;
  [[nodiscard]] std::optional<double> gain_predicted() const;
};

// Reads the proof of the process's last loop in which a plan was compared with none.
std::optional<ProofSummary> read_proof(const std::string& path, std::int64_t run);
// Formats the absolute value of a share: "17 %", "0.4 %".
std::string percent(double share);
// Returns a clause: "gained 17 % (predicted 19 %): ...".
std::string format_proof(const ProofSummary& proof);
// Returns a JSON object.
std::string json_of(const ProofSummary& proof);

}  // namespace terrace::cli
