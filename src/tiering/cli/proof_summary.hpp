// What a plan was worth, as the run has measured it: a part of the closing line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/units.hpp"

namespace terrace::cli {

struct ProofSummary {
  Seconds without, with;  // medians of iterations; 0 where there were none
  std::int64_t iterations_without = 0, iterations_with = 0;
  Seconds predicted_unplaced, predicted;  // 0 where the plan does not say
  bool undone = false;

  // As a share of an iteration without the plan; nothing where one is not known.
  [[nodiscard]] std::optional<double> gained() const;
  [[nodiscard]] std::optional<double> gain_predicted() const;
};

// Of the process's last loop in which a plan was compared.
std::optional<ProofSummary> read_proof(const std::string& path, std::int64_t run);
// Without a sign: "17 %", "0.4 %".
std::string percent(double share);
// One sentence without a full stop: "gained 17 % (predicted 19 %): ...".
std::string format_proof(const ProofSummary& proof);
// An object.
std::string json_of(const ProofSummary& proof);

}  // namespace terrace::cli
