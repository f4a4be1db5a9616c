// See program.hpp.
#include "workloads/stencils/program.hpp"

#include <charconv>
#include <cmath>

#include "core/error.hpp"

namespace terrace::stencil::programs {
namespace {

template <class T>
T parsed(const std::string& name, const std::string& text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error(Code::invalid, name + "=" + text + ": a number is needed");
  return number;
}

}  // namespace

std::int64_t Arguments::number(const std::string& name, std::int64_t otherwise) {
  asked_[name] = true;
  const auto found = given_.find(name);
  return found == given_.end() ? otherwise : parsed<std::int64_t>(name, found->second);
}

double Arguments::real(const std::string& name, double otherwise) {
  asked_[name] = true;
  const auto found = given_.find(name);
  return found == given_.end() ? otherwise : parsed<double>(name, found->second);
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) {
  asked_[name] = true;
  const auto found = given_.find(name);
  return found == given_.end() ? otherwise : found->second;
}

void Arguments::refuse_others() const {
  std::string known;
  for (const auto& [name, was_asked] : asked_) known += (known.empty() ? "" : ", ") + name;
  for (const auto& [name, text] : given_)
    if (!asked_.contains(name))
      throw Error(Code::invalid, "there is no argument '" + name + "'; there are " + known);
}

VirtualOptions virtual_options(Arguments& arguments) {
  VirtualOptions options;
  options.mode = arguments.text("how", options.mode);
  if (const auto memory = arguments.text("memory", ""); !memory.empty()) options.pair.memory = parse_bytes(memory);
  if (const auto memory = arguments.text("slow_memory", ""); !memory.empty())
    options.pair.slow_memory = parse_bytes(memory);
  if (const auto rate = arguments.text("bandwidth", ""); !rate.empty())
    options.pair.loop_bandwidth = parse_bandwidth(rate).value;
  options.how.is_tiled = arguments.number("tiled", 1) != 0;
  options.how.is_cyclic = arguments.number("cyclic", 1) != 0;
  options.how.is_prefetched = arguments.number("prefetched", 1) != 0;
  const auto processes = arguments.number("processes", 1);
  if (processes < 1) throw Error(Code::invalid, "processes=" + std::to_string(processes) + ": 1 at least");
  options.how.processes = static_cast<double>(processes);
  return options;
}

bool Result::holds() const { return allowed <= 0 || std::abs(value - expected) <= allowed * std::abs(expected); }

const StencilProgram& find_stencil_program(std::string_view name) {
  std::string known;
  for (const auto* program : stencil_programs()) {
    if (program->name() == name) return *program;
    known += (known.empty() ? "" : ", ") + std::string(program->name());
  }
  throw Error(Code::invalid, "there is no stencil program '" + std::string(name) + "'; there are " + known);
}

}  // namespace terrace::stencil::programs
