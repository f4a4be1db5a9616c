// See observed.hpp.
#include "runtime/session/observed.hpp"

#include "observe/collector_variant.hpp"
#include "strategy/planner.hpp"

namespace terrace::runtime {

namespace {

bool is_obeyed(const SessionConfiguration& configuration) {
  return configuration.plan && !configuration.better_plan;
}

// There is something to decide, nobody reports accesses, and nobody else watches the pages.
bool wants_pages(const Session& session, bool has_hooks) {
  const auto& configuration = session.configurations.front();
  if (session.backend != Backend::real || session.spill.is_wanted() || has_hooks) return false;
  if (!observe::find_collector(session.collector).watches_pages()) return false;
  if (configuration.record_only) return true;
  if (is_obeyed(configuration)) return session.phases.source != PhaseSource::markers && has_choice(session);
  return learns(session) && has_choice(session);
}

// One kind of memory, and a program that reports no accesses: nothing can be learned for a choice that there is
// not.
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
  if (is_obeyed(configuration)) return false;
  const auto* const planner = strategy::find_variant(configuration.planner).planner();
  return planner && planner->needs_profile();
}

Observed observed_in(const Session& session, bool has_hooks) {
  if (!session.hooks) return Observed::nothing;
  if (wants_pages(session, has_hooks)) return Observed::pages;
  return has_nothing_to_choose(session, has_hooks) ? Observed::nothing : Observed::hooks;
}

}  // namespace terrace::runtime
