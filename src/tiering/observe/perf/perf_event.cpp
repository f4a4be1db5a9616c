// SPDX-License-Identifier: Apache-2.0
// Serialises perf events, which the launcher passes to the runtime in the program. See perf_event.hpp.
#include "observe/perf/perf_event.hpp"

namespace terrace::observe {

void PerfEvent::to_blob(BlobWriter& blob) const {
  blob.put(type);
  blob.put(config);
  blob.put(config1);
  blob.put(config2);
  blob.put(precise);
  blob.put(sample_type);
  blob.put(period);
  blob.put(format);
  blob.put(static_cast<std::uint8_t>(has_leader));
  blob.put(leader_config);
  blob.put(choice);
  blob.put(std::string_view(name));
  blob.put(std::string_view(blind_spots));
}

PerfEvent PerfEvent::from_blob(BlobReader& blob) {
  PerfEvent event;
  event.type = blob.get<std::uint32_t>();
  event.config = blob.get<std::uint64_t>();
  event.config1 = blob.get<std::uint64_t>();
  event.config2 = blob.get<std::uint64_t>();
  event.precise = blob.get<std::uint8_t>();
  event.sample_type = blob.get<std::uint64_t>();
  event.period = blob.get<std::uint64_t>();
  event.format = blob.get<AccessFormat>();
  if (event.format > AccessFormat::spe)
    throw Error(
        Code::corrupt,
        "the session has a perf event of a format that this version does not know; start the program with the "
        "terrace that is installed with this library");
  event.has_leader = blob.get<std::uint8_t>() != 0;
  event.leader_config = blob.get<std::uint64_t>();
  event.choice = blob.get<std::uint8_t>();
  event.name = blob.get_string();
  event.blind_spots = blob.get_string();
  return event;
}

}  // namespace terrace::observe
