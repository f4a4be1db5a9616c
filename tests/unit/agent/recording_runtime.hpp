// A runtime that only records its calls, for tests of the agent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "profile/profile.hpp"
#include "runtime/runtime.hpp"

namespace terrace::test {

// A recorded call. For `removed` only `id` is set; for `event` only `name` ("phase smooth", "finish exit").
struct RecordedCall {
  enum class What { added, removed, event } what = What::event;
  ObjectId id = 0;
  std::string name;
  observe::ObjectKind kind = observe::ObjectKind::heap;
  std::uint64_t low = 0, size = 0;
};

std::unique_ptr<runtime::Runtime> make_recording_runtime(std::function<void(const RecordedCall&)> tell);

}  // namespace terrace::test
