// SPDX-License-Identifier: Apache-2.0
// Exchanges records with the other ranks of an MPI job on this node, and divides fast memory among them. See
// rank_group.hpp.
#include "strategy/ranks/rank_group.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "strategy/ranks/memory_division.hpp"

namespace terrace::strategy {

namespace {

constexpr std::int64_t k_max_lag_change = 2;  // iterations, of a rank that iterates in step

// FNV-1a, 64 bits; never 0.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char letter : name) hash = (hash ^ letter) * 0x100000001b3;
  return hash | 1U;
}

std::string mebibytes(Bytes bytes) { return std::to_string((bytes.value + (1U << 19)) >> 20) + " MiB"; }

// Returns "489.8 ms". Formats without floating point: that part of the C++ library needs libm.
std::string milliseconds(double seconds) {
  const auto tenths = static_cast<std::uint64_t>(seconds * 1e4 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

// The published form of a rank's curves: the used entries only.
class CurveWriter {
 public:
  void add(const GainCurve& curve) {
    add_value(curve.phase_names);
    add_value(curve.num_phases);
    add_value(curve.num_steps);
    for (std::uint32_t step = 0; step <= curve.num_steps; ++step) {
      add_value(curve.bytes[step]);
      for (std::uint32_t phase = 0; phase < curve.num_phases; ++phase) add_value(curve.time[step][phase]);
    }
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <class Value>
  void add_value(const Value& value) {
    const auto bytes = bytes_of(value);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> bytes_;
};

class CurveReader {
 public:
  explicit CurveReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // Returns the next curve, or nothing if the bytes are none.
  std::optional<GainCurve> next() {
    GainCurve curve;
    read(curve.phase_names);
    read(curve.num_phases);
    read(curve.num_steps);
    if (!is_valid_ || curve.num_phases > GainCurve::k_max_phases || curve.num_steps > GainCurve::k_max_steps)
      return std::nullopt;
    for (std::uint32_t step = 0; step <= curve.num_steps; ++step) {
      read(curve.bytes[step]);
      for (std::uint32_t phase = 0; phase < curve.num_phases; ++phase) read(curve.time[step][phase]);
      if (step > 0 && curve.bytes[step] < curve.bytes[step - 1]) return std::nullopt;
    }
    return is_valid_ ? std::optional(curve) : std::nullopt;
  }

 private:
  template <class Value>
  void read(Value& value) {
    is_valid_ = is_valid_ && bytes_.size() >= sizeof value;
    if (!is_valid_) return;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
  }
  std::span<const std::byte> bytes_;
  bool is_valid_ = true;
};

// All curves fit into a record.
static_assert(RankGroup::k_max_places * (16 + (GainCurve::k_max_steps + 1) * (8 + 4 * GainCurve::k_max_phases)) <=
              8 * memory::k_ledger_record_words[1]);

}  // namespace

RankGroup::RankGroup(Settings settings) : settings_(std::move(settings)) {
  if (settings_.places.size() > k_max_places) settings_.places.resize(k_max_places);
  state_.rank = settings_.rank;
  publish_state();
}

void RankGroup::publish_state() {
  static_assert(sizeof(State) <= 8 * memory::k_ledger_record_words[0]);
  settings_.ledger->publish(memory::LedgerRecordKind::small, bytes_of(state_));
}

void RankGroup::begin_loop(std::string_view name) {
  end_loop();
  state_.loop = hash_of(name);
  loop_begun_ = settings_.clock->now();
  publish_state();
}

void RankGroup::end_loop() {
  if (state_.loop == 0) return;
  release_shares();
  curves_.clear();
  shares_.clear();
  basis_.clear();
  tried_.clear();
  known_.clear();
  peers_.clear();
  is_profile_requested_ = false;
  profiled_at_.reset();
  read_at_.reset();
  state_.loop = 0;
  state_.gains = 0;
  state_.iteration = 0;
  state_.status = PlanStatus::none;
  publish_state();
}

void RankGroup::begin_iteration(std::uint32_t iteration) {
  state_.iteration = iteration;
  publish_state();
  refresh(false);
}

Seconds RankGroup::refresh_interval() const {
  return std::max(k_min_read_interval, static_cast<double>(peers_.size()) * k_read_interval_per_rank);
}

// Reads the records of the other ranks. Not in each of many short iterations: each process costs a system call.
void RankGroup::refresh(bool at_once) {
  const auto now = settings_.clock->now();
  if (!at_once && read_at_ && now - *read_at_ < refresh_interval()) return;
  read_at_ = now;
  const auto before = std::exchange(peers_, {});
  others_.clear();
  has_joining_ranks_ = false;
  const auto processes = settings_.ledger->peers(false);
  if (!searched_at_ || now - *searched_at_ >= k_dead_rank_scan_interval) {
    searched_at_ = now;
    dead_.clear();
    const auto alive = settings_.ledger->peers(true);
    for (const auto& process : processes)
      if (std::ranges::none_of(alive, [&](const auto& one) { return one.process == process.process; }))
        dead_.push_back(process);
  }
  for (const auto& process : processes) {
    if (std::ranges::any_of(dead_, [&](const auto& one) { return one.process == process.process; })) continue;
    std::array<std::byte, sizeof(State)> bytes;
    Peer peer{process, {}};
    if (settings_.ledger->read_record(process, memory::LedgerRecordKind::small, bytes) == sizeof(State)) {
      std::memcpy(&peer.state, bytes.data(), sizeof(State));
      has_joining_ranks_ = has_joining_ranks_ || peer.state.loop == 0;
    } else {  // the rank is writing it: what it wrote before holds
      const auto is_it = [&](const Peer& one) { return one.process.process == process.process; };
      if (const auto last = std::ranges::find_if(before, is_it); last != before.end()) peer = *last;
    }
    if (peer.state.loop != state_.loop) {
      others_.push_back(process);
      continue;
    }
    auto& known = known_[process.slot];
    const auto lag = std::int64_t{peer.state.iteration} - std::int64_t{state_.iteration};
    if (known.process != process.process || known.loop != state_.loop)
      known = {process.process, state_.loop, lag, peer.state.profile_requests};
    peer.is_in_step = std::abs(lag - known.lag) <= k_max_lag_change;
    if (std::exchange(known.profile_requests, peer.state.profile_requests) != peer.state.profile_requests)
      is_profile_requested_ = true;
    peers_.push_back(peer);
  }
}

void RankGroup::publish_gains(std::vector<GainCurve> curves, const std::vector<Bytes>& unmovable) {
  for (std::size_t p = 0; p < k_max_places; ++p)
    state_.unmovable[p] = p < unmovable.size() ? unmovable[p].value : 0;
  curves_ = std::move(curves);
  CurveWriter writer;
  for (const auto& curve : curves_) writer.add(curve);
  settings_.ledger->publish(memory::LedgerRecordKind::large, writer.bytes());
  state_.gains = ++last_gains_;
  publish_state();
  const auto now = settings_.clock->now();
  deadline_ = now + std::max(k_min_gain_timeout, now - loop_begun_);
}

bool RankGroup::poll_missing_gains() {
  if (settings_.clock->now() >= deadline_) return false;
  refresh(true);
  return has_joining_ranks_ || std::ranges::any_of(peers_, [](const Peer& peer) { return peer.state.gains == 0; });
}

RankGroup::Basis RankGroup::current_basis() const {
  Basis basis{{settings_.ledger->own_slot(), state_.gains}};
  for (const auto& peer : peers_)
    if (peer.state.gains != 0) basis.emplace_back(peer.process.slot, peer.state.gains);
  std::ranges::sort(basis);
  return basis;
}

// Computes the shares of this rank, and notes in basis_ what they rest on: a record that another rank is writing
// is read the next time. All members do so in order of their slots, so that they get the same result.
RankGroup::Shares RankGroup::compute_shares() {
  struct Member {
    std::size_t slot;
    std::vector<GainCurve> curves;
  };
  std::vector<Member> members{{settings_.ledger->own_slot(), curves_}};
  basis_ = {{settings_.ledger->own_slot(), state_.gains}};
  const auto& places = settings_.places;
  // Bytes that are not divided, each read once: a difference of sums would change while ranks move data.
  std::vector<Bytes> fixed;
  for (std::size_t p = 0; p < places.size(); ++p) fixed.push_back(Bytes{state_.unmovable[p]});
  const auto add_all = [&](const memory::Ledger::Peer& process) {
    for (std::size_t p = 0; p < places.size(); ++p) fixed[p] += settings_.ledger->held_by(process, places[p]);
  };
  for (const auto& process : others_) add_all(process);
  std::vector<std::byte> buffer(8 * memory::k_ledger_record_words[1]);
  for (const auto& peer : peers_) {
    const auto size = peer.state.gains == 0
                          ? std::nullopt
                          : settings_.ledger->read_record(peer.process, memory::LedgerRecordKind::large, buffer);
    CurveReader reader{std::span(buffer).first(size.value_or(0))};
    Member member{peer.process.slot, {}};
    while (member.curves.size() < places.size()) {
      auto curve = reader.next();
      if (!curve) break;
      member.curves.push_back(*curve);
    }
    if (member.curves.size() != places.size()) {
      add_all(peer.process);
      continue;
    }
    for (std::size_t p = 0; p < places.size(); ++p) fixed[p] += Bytes{peer.state.unmovable[p]};
    members.push_back(std::move(member));
    basis_.emplace_back(peer.process.slot, peer.state.gains);
  }
  std::ranges::sort(basis_);
  std::ranges::sort(members, {}, &Member::slot);
  const auto own = std::ranges::find(members, settings_.ledger->own_slot(), &Member::slot) - members.begin();
  num_divided_among_ = members.size();
  Shares shares;
  std::vector<GainCurve> curves(members.size());
  for (std::size_t p = 0; p < places.size(); ++p) {
    const auto budget = settings_.budget[places[p]];
    for (std::size_t i = 0; i < members.size(); ++i) curves[i] = members[i].curves[p];
    const auto divided = divide_memory((budget - std::min(budget, fixed[p])).value, curves);
    shares.push_back(Bytes{divided[static_cast<std::size_t>(own)]});
  }
  return shares;
}

void RankGroup::state_demands(const Shares& shares) {
  const auto& places = settings_.places;
  for (std::size_t p = 0; p < shares.size(); ++p)
    settings_.ledger->set_demand(places[p], {.quota = shares[p].value + state_.unmovable[p], .weight = 1});
}

void RankGroup::divide() {
  refresh(true);
  shares_ = compute_shares();
  state_demands(shares_);
}

machine::Budget RankGroup::own_budget() const {
  auto budget = settings_.budget;
  const auto& places = settings_.places;
  for (std::size_t p = 0; p < shares_.size(); ++p) budget[places[p]] = shares_[p];
  return budget;
}

bool RankGroup::detect_share_change() {
  if (shares_.empty() || curves_.empty()) return false;
  auto basis = current_basis();
  const auto now = settings_.clock->now();
  // A record that cannot be read is tried again, but not all the time.
  if (basis == basis_ || (basis == tried_ && now - tried_at_ < 10 * refresh_interval())) return false;
  tried_ = std::move(basis);
  tried_at_ = now;
  const auto shares = compute_shares();
  for (std::size_t p = 0; p < shares.size(); ++p) {
    const auto larger = std::max(shares[p], shares_[p]).value;
    const auto smaller = std::min(shares[p], shares_[p]).value;
    if (static_cast<double>(larger - smaller) > k_min_change * static_cast<double>(larger)) return true;
  }
  return false;
}

void RankGroup::release_shares() {
  if (shares_.empty()) return;
  for (const auto place : settings_.places) settings_.ledger->set_demand(place, {.weight = 0});
}

void RankGroup::restore_shares() { state_demands(shares_); }

std::string RankGroup::describe_division() const {
  const auto& places = settings_.places;
  std::string text = "fast memory of this node is divided among " + std::to_string(num_divided_among_) +
                     (num_divided_among_ == 1 ? " rank" : " ranks") + ": rank " + std::to_string(state_.rank) +
                     " gets ";
  for (std::size_t p = 0; p < shares_.size(); ++p)
    text += (p > 0 ? ", " : "") + mebibytes(shares_[p]) + " of " + mebibytes(settings_.budget[places[p]]);
  if (curves_.empty()) return text;
  const auto& curve = curves_.front();
  std::size_t step = 0;
  while (step < curve.num_steps && curve.bytes[step + 1] <= shares_.front().value) ++step;
  return text + ". Predicted computation of an iteration: " + milliseconds(curve.iteration_time(step)) + "; " +
         milliseconds(curve.iteration_time(0)) + " without fast memory, " +
         milliseconds(curve.iteration_time(curve.num_steps)) + " with the " +
         mebibytes(Bytes{curve.bytes[curve.num_steps]}) + " that it can use";
}

void RankGroup::request_profile() {
  ++state_.profile_requests;
  note_profiling();
  publish_state();
}

bool RankGroup::take_profile_request() {
  if (!std::exchange(is_profile_requested_, false)) return false;
  // Several ranks may notice the same change: their requests are one.
  if (profiled_at_ && (state_.iteration <= profiled_in_ + k_max_lag_change ||
                       settings_.clock->now() - *profiled_at_ < 2 * refresh_interval()))
    return false;
  note_profiling();
  return true;
}

void RankGroup::note_profiling() {
  profiled_at_ = settings_.clock->now();
  profiled_in_ = state_.iteration;
}

void RankGroup::set_status(PlanStatus status) {
  if (std::exchange(state_.status, status) != status) publish_state();
}

std::optional<PlanStatus> RankGroup::leader_status() {
  refresh(false);
  const Peer* leader = nullptr;
  for (const auto& peer : peers_)
    if (peer.state.status != PlanStatus::none && peer.state.rank < state_.rank && peer.is_in_step &&
        (!leader || peer.state.rank < leader->state.rank))
      leader = &peer;
  return leader ? std::optional(leader->state.status) : std::nullopt;
}

}  // namespace terrace::strategy
