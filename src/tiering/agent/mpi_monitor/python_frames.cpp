// SPDX-License-Identifier: Apache-2.0
// Walks the frames of CPython 3.9 to 3.13 by its C API. See python_frames.hpp.
#include "agent/mpi_monitor/python_frames.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

namespace terrace::agent {

// The functions of https://docs.python.org/3/c-api that are used. All objects are `void*`.
struct PythonApi {
  int (*is_initialized)();
  int (*is_finalizing)();
  void* (*this_thread)();
  int (*acquire_gil)();
  void (*release_gil)(int state);
  void (*take_error)(void** type, void** value, void** traceback);
  void (*restore_error)(void* type, void* value, void* traceback);
  void (*clear_error)();
  int (*disable_gc)();       // null before 3.10
  int (*enable_gc)();        // null before 3.10
  void* (*current_frame)();  // borrowed
  void* (*frame_back)(void* frame);
  void* (*frame_code)(void* frame);
  int (*frame_offset)(void* frame);  // null before 3.11
  int (*line_of)(void* code, int offset);
  void* (*attribute)(void* object, void* name);
  int (*set_attribute)(void* object, void* name, void* value);
  void* (*call)(void* callable, void* nothing);
  void* (*intern)(const char* name);
  const char* (*utf8)(void* string);
  long (*as_long)(void* number);
  int (*as_bytes)(void* bytes, char** data, std::intptr_t* size);
  void* (*system_object)(const char* name);  // borrowed
  void (*release)(void* object);
  const char* (*version_text)();
  void* none;
  void* py_false;
  runtime::PythonVersion version;
  // Names of attributes.
  void *f_lasti, *f_trace_lines;
};

namespace {

template <class Function>
bool look_up(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

// Returns whether all functions were found that all supported versions have.
bool look_up_all(PythonApi& api) {
  look_up(api.disable_gc, "PyGC_Disable");
  look_up(api.enable_gc, "PyGC_Enable");
  look_up(api.frame_offset, "PyFrame_GetLasti");
  const bool is_complete =
      (look_up(api.is_finalizing, "Py_IsFinalizing") || look_up(api.is_finalizing, "_Py_IsFinalizing")) &&
      look_up(api.is_initialized, "Py_IsInitialized") &&
      look_up(api.this_thread, "PyGILState_GetThisThreadState") && look_up(api.acquire_gil, "PyGILState_Ensure") &&
      look_up(api.release_gil, "PyGILState_Release") && look_up(api.take_error, "PyErr_Fetch") &&
      look_up(api.restore_error, "PyErr_Restore") && look_up(api.clear_error, "PyErr_Clear") &&
      look_up(api.current_frame, "PyEval_GetFrame") && look_up(api.frame_back, "PyFrame_GetBack") &&
      look_up(api.frame_code, "PyFrame_GetCode") && look_up(api.line_of, "PyCode_Addr2Line") &&
      look_up(api.attribute, "PyObject_GetAttr") && look_up(api.set_attribute, "PyObject_SetAttr") &&
      look_up(api.call, "PyObject_CallObject") && look_up(api.intern, "PyUnicode_InternFromString") &&
      look_up(api.utf8, "PyUnicode_AsUTF8") && look_up(api.as_long, "PyLong_AsLong") &&
      look_up(api.as_bytes, "PyBytes_AsStringAndSize") && look_up(api.system_object, "PySys_GetObject") &&
      look_up(api.release, "Py_DecRef") && look_up(api.version_text, "Py_GetVersion") &&
      look_up(api.none, "_Py_NoneStruct") && look_up(api.py_false, "_Py_FalseStruct");
  if (!is_complete) return false;
  auto& [major, minor] = api.version;
  return std::sscanf(api.version_text(), "%d.%d", &major, &minor) == 2 && runtime::can_decode(api.version) &&
         (minor < 11 || api.frame_offset);
}

// Returns the interpreter's functions, or null. Its library is loaded before the first MPI call of a Python
// program.
PythonApi* find_api() {
  static PythonApi api;
  static const bool is_complete = look_up_all(api);
  return is_complete ? &api : nullptr;
}

// Holds the GIL, if that is safe.
class Interpreter {
 public:
  explicit Interpreter(const PythonApi& api)
      : api_(api), is_held_(api.is_initialized() != 0 && api.is_finalizing() == 0 && api.this_thread()) {
    if (!is_held_) return;
    state_ = api_.acquire_gil();
    if (api_.disable_gc) collects_ = api_.disable_gc() == 1;
    api_.take_error(&error_[0], &error_[1], &error_[2]);
  }
  ~Interpreter() {
    if (!is_held_) return;
    api_.restore_error(error_[0], error_[1], error_[2]);
    if (collects_) api_.enable_gc();
    api_.release_gil(state_);
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  const PythonApi& api_;
  bool is_held_;
  int state_ = 0;
  bool collects_ = false;
  void* error_[3] = {};
};

// Holds a reference; null where the call of Python has failed, whose error is cleared.
class Reference {
 public:
  Reference(const PythonApi& api, void* object) : api_(api), object_(object) {
    if (!object_) api_.clear_error();
  }
  ~Reference() {
    if (object_) api_.release(object_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  [[nodiscard]] void* get() const { return object_; }
  void* take() { return std::exchange(object_, nullptr); }
  void reset(void* object) {
    if (object_) api_.release(object_);
    object_ = object;
  }

 private:
  const PythonApi& api_;
  void* object_;
};

Reference attribute_of(const PythonApi& api, void* object, const char* name) {
  const Reference key(api, api.intern(name));
  return {api, key.get() ? api.attribute(object, key.get()) : nullptr};
}

std::span<const std::uint8_t> bytes_of(const PythonApi& api, const Reference& bytes) {
  char* data = nullptr;
  std::intptr_t size = 0;
  if (!bytes.get()) return {};
  if (api.as_bytes(bytes.get(), &data, &size) != 0) {
    api.clear_error();
    return {};
  }
  return {reinterpret_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size)};
}

// Returns whether a trace function is set, a debugger's or a coverage tool's.
bool is_traced(const PythonApi& api) {
  auto* const function = api.system_object("gettrace");
  if (!function) return true;
  const Reference trace(api, api.call(function, nullptr));
  return trace.get() != api.none;
}

}  // namespace

PythonFrames::PythonFrames(runtime::PythonLoops& loops) : loops_(loops), api_(nullptr) {
  auto* const api = find_api();
  if (!api) return;
  const Interpreter held(*api);
  if (!held.is_held()) return;
  api->f_lasti = api->intern("f_lasti");
  api->f_trace_lines = api->intern("f_trace_lines");
  if (api->f_lasti && api->f_trace_lines)
    api_ = api;
  else
    api->clear_error();
}

const std::vector<runtime::PythonFrame>* PythonFrames::read() {
  if (!api_) return nullptr;
  const Interpreter held(*api_);
  if (!held.is_held() || is_traced(*api_)) return nullptr;
  if (read_stack()) return &frames_;
  objects_.clear();
  frames_.clear();
  return nullptr;
}

bool PythonFrames::read_stack() {
  std::swap(objects_, last_objects_);
  std::swap(frames_, last_frames_);
  objects_.clear();
  frames_.clear();
  // A frame that is executed stays alive without a reference.
  for (auto* frame = api_->current_frame(); frame;) {
    if (objects_.size() == k_max_depth) return false;
    const auto code = number_of(frame);
    if (!code) return false;
    std::int64_t offset = 0;
    if (api_->frame_offset) {
      offset = api_->frame_offset(frame);
    } else {
      const Reference number(*api_, api_->attribute(frame, api_->f_lasti));
      if (!number.get()) return false;
      offset = api_->as_long(number.get());
    }
    objects_.push_back(frame);
    frames_.push_back({0, *code, static_cast<runtime::PythonOffset>(std::max<std::int64_t>(offset, 0))});
    frame = Reference(*api_, api_->frame_back(frame)).get();
  }
  std::ranges::reverse(objects_);
  std::ranges::reverse(frames_);
  for (std::size_t i = 0; i < objects_.size(); ++i) frames_[i].activation = activation_of(objects_[i], i);
  return !frames_.empty();
}

// Returns the number of an activation, that of the last call where it is the same.
std::uint64_t PythonFrames::activation_of(void* frame, std::size_t depth) {
  if (depth < last_objects_.size() && last_objects_[depth] == frame) {
    const Reference is_new(*api_, api_->attribute(frame, api_->f_trace_lines));
    if (is_new.get() == api_->py_false) return last_frames_[depth].activation;
  }
  if (api_->set_attribute(frame, api_->f_trace_lines, api_->py_false) != 0) api_->clear_error();
  return ++num_activations_;
}

std::optional<std::uint32_t> PythonFrames::number_of(void* frame) {
  Reference code(*api_, api_->frame_code(frame));
  const auto known = numbers_.find(code.get());
  if (known != numbers_.end()) return known->second;
  if (codes_.size() == k_max_codes) return std::nullopt;
  const auto number = add(code.get());
  if (number) code.take();
  return number;
}

std::optional<std::uint32_t> PythonFrames::add(void* code) {
  const auto instructions = attribute_of(*api_, code, "co_code");
  const auto exceptions = attribute_of(*api_, code, "co_exceptiontable");  // from 3.11
  const auto name = attribute_of(*api_, code, "co_name");
  const char* const text = name.get() ? api_->utf8(name.get()) : nullptr;
  if (!text) api_->clear_error();
  const auto line_of = [&](runtime::PythonOffset offset) { return api_->line_of(code, static_cast<int>(offset)); };
  codes_.push_back({code, text ? text : "?"});
  const auto number = loops_.add(
      runtime::PythonCode(api_->version, bytes_of(*api_, instructions), bytes_of(*api_, exceptions), line_of));
  numbers_.emplace(code, number);
  return number;
}

std::string PythonFrames::name(std::uint32_t code, runtime::PythonOffset offset) const {
  auto text = codes_[code].function;
  const Interpreter held(*api_);
  const auto line = held.is_held() ? api_->line_of(codes_[code].object, static_cast<int>(offset)) : -1;
  return text.append(line < 0 ? "+" : ":").append(std::to_string(line < 0 ? static_cast<int>(offset) : line));
}

}  // namespace terrace::agent
