// SPDX-License-Identifier: Apache-2.0
// Decides from the session's options what a run's profile is made from: hooks, watched pages, or nothing. Called
// by the launcher and the agent. See profile_source.hpp.
#include "runtime/session/profile_source.hpp"

#include "observe/collector_variant.hpp"
#include "runtime/interval_phases.hpp"
#include "strategy/planner.hpp"

namespace terrace::runtime {

namespace {

bool follows_plan_unchanged(const SessionConfiguration& configuration) {
  return configuration.plan && !configuration.refine_plan;
}

// Returns whether there is something to decide, nothing reports accesses, and nothing else watches the pages.
bool wants_pages(const Session& session, bool has_hooks) {
  const auto& configuration = session.configurations.front();
  if (session.backend != Backend::real || session.spill.is_wanted() || has_hooks) return false;
  if (!observe::find_collector(session.collector).watches_pages()) return false;
  if (configuration.record_only) return true;
  if (follows_plan_unchanged(configuration))
    return session.phases.source != PhaseSource::markers && has_choice(session);
  return learns(session) && has_choice(session);
}

// Returns whether there is one place and no profile: a program without hooks has nothing to learn for a choice
// that does not exist.
bool has_nothing_to_choose(const Session& session, bool has_hooks) {
  const auto& configuration = session.configurations.front();
  return session.backend == Backend::real && !configuration.record_only && !configuration.plan &&
         !has_choice(session) && !has_hooks;
}

}  // namespace

bool has_choice(const Session& session) {
  const auto& configuration = session.configurations.front();
  return configuration.machine.fastest_first(configuration.domain).size() > 1;
}

bool learns(const Session& session) {
  if (session.backend == Backend::virtual_time) return true;
  const auto& configuration = session.configurations.front();
  if (session.spill.is_wanted() || session.intent.is_wanted()) return false;
  if (configuration.record_only) return true;
  if (follows_plan_unchanged(configuration)) return false;
  const auto* const planner = strategy::find_variant(configuration.planner).planner();
  return planner && planner->needs_profile();
}

WatchPurpose watch_purpose(const Session& session) {
  const auto& configuration = session.configurations.front();
  if (configuration.record_only || !follows_plan_unchanged(configuration)) return WatchPurpose::profile;
  if (configuration.plan->moves.empty()) return WatchPurpose::nothing;
  const auto& loop = configuration.plan->loop;
  return loop.empty() || loop == k_intervals_loop ? WatchPurpose::phases : WatchPurpose::other_phases;
}

ProfileSource profile_source(const Session& session, bool has_hooks) {
  if (!session.hooks) return ProfileSource::none;
  if (wants_pages(session, has_hooks)) return ProfileSource::pages;
  return has_nothing_to_choose(session, has_hooks) ? ProfileSource::none : ProfileSource::hooks;
}

}  // namespace terrace::runtime
