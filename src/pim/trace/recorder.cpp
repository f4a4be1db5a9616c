// SPDX-License-Identifier: Apache-2.0
// Forwards allocations to an allocator of PIM devices and writes each with its outcome. bmem.h uses it with
// BMEM_TRACE=FILE. See recorder.hpp.
#include "pim/trace/recorder.hpp"

namespace terrace::pim {

Recorder::Recorder(Allocator& allocator, std::ostream& out) : allocator_(allocator), out_(out) {
  out_ << format_header(allocator.geometry());
}

// Makes the trace's operation of an allocation, under the next id. Requires the lock.
Operation Recorder::written(const Request& request, Handle handle, Handle beside) {
  Operation operation;
  operation.id = ++last_;
  operation.request = request;
  // The block beside which it was placed may be released by now; the outcome is still valid.
  if (const auto neighbour = ids_.find(beside.value); neighbour != ids_.end())
    operation.beside = neighbour->second;
  operation.outcome = Outcome{allocator_.block(handle)};
  if (handle) ids_.emplace(handle.value, operation.id);
  return operation;
}

Handle Recorder::allocate(const Request& request) {
  const auto handle = allocator_.allocate(request);
  const std::lock_guard held(lock_);
  out_ << format_operation(written(request, handle, request.beside));
  return handle;
}

std::vector<Handle> Recorder::allocate_group(std::span<const Request> requests, Within share) {
  auto handles = allocator_.allocate_group(requests, share);
  if (requests.empty()) return handles;
  const std::lock_guard held(lock_);
  Operation group;
  group.kind = Operation::Kind::group;
  group.members = static_cast<std::uint32_t>(requests.size());
  group.share = share;
  out_ << format_operation(group);
  for (std::size_t i = 0; i < requests.size(); ++i)
    out_ << format_operation(written(requests[i], handles.empty() ? Handle{} : handles[i], {}));
  return handles;
}

Released Recorder::release(Handle handle) {
  {
    const std::lock_guard held(lock_);
    if (const auto block = ids_.find(handle.value); block != ids_.end()) {
      Operation operation;
      operation.kind = Operation::Kind::release;
      operation.id = block->second;
      out_ << format_operation(operation);
      ids_.erase(block);
    }
  }
  return allocator_.release(handle);
}

}  // namespace terrace::pim
