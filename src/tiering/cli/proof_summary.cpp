// SPDX-License-Identifier: Apache-2.0
// Reads from a profile the proof of a plan (times of iterations with it and without), and formats it for the
// closing line. See proof_summary.hpp.
#include "cli/proof_summary.hpp"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/store/store_database.hpp"

namespace terrace::cli {

namespace {

// Returns the share by which the time fell; nothing if one of the two is unknown.
std::optional<double> gain(Seconds before, Seconds after) {
  if (before.value <= 0 || after.value <= 0) return {};
  return 1 - after / before;
}

std::string iterations(std::int64_t count) { return fmt::format("{} iteration{}", count, count == 1 ? "" : "s"); }

}  // namespace

std::string percent(double share) {
  const auto size = std::abs(100 * share);
  return size < 10 ? fmt::format("{:.1f} %", size) : fmt::format("{:.0f} %", size);
}

std::optional<double> ProofSummary::gained() const { return gain(without, with); }
std::optional<double> ProofSummary::gain_predicted() const { return gain(predicted_unplaced, predicted); }

std::optional<ProofSummary> read_proof(const std::string& path, std::int64_t run) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(database,
                           "SELECT unplaced, placed, iterations_unplaced, iterations_placed, predicted_unplaced,"
                           " predicted, undone, noise FROM proof WHERE run = ? ORDER BY loop DESC LIMIT 1");
  query.bind_all(run);
  if (!query.step()) return {};
  return ProofSummary{Seconds{query.real(0)}, Seconds{query.real(1)}, query.integer(2),
                      query.integer(3),       Seconds{query.real(4)}, Seconds{query.real(5)},
                      query.integer(6) != 0,  query.integer(7) != 0};
}

std::string format_proof(const ProofSummary& proof) {
  const auto gained = proof.gained();
  const auto predicted = proof.gain_predicted();
  if (!gained) {
    if (proof.predicted.value <= 0) return fmt::format("an iteration took {} with the plan", format(proof.with));
    auto text = fmt::format("an iteration took {} with the plan, predicted {}", format(proof.with),
                            format(proof.predicted));
    if (predicted) text += fmt::format(" and {} without it", format(proof.predicted_unplaced));
    return text;
  }
  auto text = proof.undone     ? fmt::format("undone, as it lost {}", percent(*gained))
              : proof.is_noise ? "no gain beyond noise"
              : *gained >= 0   ? fmt::format("gained {}", percent(*gained))
                               : fmt::format("lost {}", percent(*gained));
  if (predicted) text += fmt::format(" (predicted {}{})", *predicted < 0 ? "a loss of " : "", percent(*predicted));
  return text + fmt::format(": {} in {} with the plan, {} in {} without", format(proof.with),
                            iterations(proof.iterations_with), format(proof.without),
                            iterations(proof.iterations_without));
}

std::string json_of(const ProofSummary& proof) {
  const auto known = [](Seconds time) {
    return time.value > 0 ? nlohmann::ordered_json(time.value) : nlohmann::ordered_json();
  };
  const auto share = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  return nlohmann::ordered_json{{"gained", share(proof.gained())},
                                {"predicted_gain", share(proof.gain_predicted())},
                                {"undone", proof.undone},
                                {"noise", proof.is_noise},
                                {"placed_s", known(proof.with)},
                                {"unplaced_s", known(proof.without)},
                                {"iterations_placed", proof.iterations_with},
                                {"iterations_unplaced", proof.iterations_without},
                                {"predicted_s", known(proof.predicted)},
                                {"predicted_unplaced_s", known(proof.predicted_unplaced)}}
      .dump();
}

}  // namespace terrace::cli
