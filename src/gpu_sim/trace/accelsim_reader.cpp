// SPDX-License-Identifier: Apache-2.0
// Reads the list, kernels and CTAs (thread blocks) of an Accel-Sim trace, for `terrace lab gpu`. See
// accelsim_reader.hpp; accelsim_warp.cpp converts instructions.
#include "gpu_sim/trace/accelsim_reader.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::uint64_t k_max_address = std::uint64_t{1} << 57;
constexpr std::size_t k_max_line_length = 1 << 16;
constexpr std::size_t k_max_excerpt = 40;  // characters of a line in a message

// Returns the product of a triple such as "(16,4,1)"; 0 if it is malformed.
std::uint64_t product_of(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return 0;
  TraceWords words(text.substr(1, text.size() - 2), ',');
  std::uint64_t product = 1;
  for (int i = 0; i < 3; ++i) {
    const auto number = words.number(10, 1 << 20);
    if (!number) return 0;
    product *= *number;
  }
  return words.next().empty() && product <= 0xffffffff ? product : 0;
}

// Returns whether the instruction may access local memory: LDL, STL, and generic LD and ST, which depend on the
// address.
bool may_be_local(std::string_view instruction) {
  for (const auto* name : {" LD", " ST"})
    if (const auto at = instruction.find(name); at != std::string_view::npos && at + 3 < instruction.size())
      if (const auto behind = instruction[at + 3]; behind == 'L' || behind == '.' || behind == ' ') return true;
  return false;
}

}  // namespace

void AccelSimReader::Lines::open(const std::filesystem::path& path) {
  path_ = path;
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    throw Error(Code::not_found, path.string() + " cannot be read: it is a folder; name a file in it");
  errno = 0;
  in_ = std::ifstream(path, std::ios::binary);
  if (!in_) throw Error(Code::not_found, path.string() + " cannot be read: " + std::strerror(errno));
  at_ = next_ = 0;
  buffer_.resize(k_max_line_length + 2);
}

bool AccelSimReader::Lines::next() {
  // Reads no more of an overlong line than the limit.
  while (in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size())) || in_.gcount() != 0) {
    at_ = next_;
    const auto taken = static_cast<std::size_t>(in_.gcount());
    next_ += taken;
    if (in_.fail()) fail("a line of more than 65536 characters: correct it, or record the trace again");
    line_.assign(buffer_, 0, taken - (in_.eof() ? 0 : 1));
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    std::replace(line_.begin(), line_.end(), '\t', ' ');
    if (!is_name(line_)) fail("a line that is not printable ASCII: correct it, or record the trace again");
    if (line_.find_first_not_of(' ') != std::string::npos) return true;
  }
  at_ = next_;
  return false;
}

void AccelSimReader::Lines::fail(const std::string& what) const {
  throw Error(Code::corrupt, path_.string() + ", byte " + std::to_string(at_) + ": " + what);
}

AccelSimReader::AccelSimReader(std::filesystem::path list, const std::filesystem::path& allocations)
    : list_(std::move(list)) {
  read_list(allocations.empty());
  if (!allocations.empty()) read_allocations(allocations);
}

void AccelSimReader::read_list(bool with_copies) {
  lines_.open(list_);
  while (lines_.next()) {
    const auto& line = lines_.line();
    if (line.starts_with("kernel")) {
      if (line.find('/') != std::string::npos)
        lines_.fail("'" + line.substr(0, k_max_excerpt) +
                    "': a kernel's file must be in the folder of the list: name it without a path");
      // A name that is too long names no file either.
      if (std::error_code ignored; !std::filesystem::is_regular_file(list_.parent_path() / line, ignored))
        lines_.fail("there is no file " + line);
      kernels_.push_back(line);
    } else if (line.starts_with("MemcpyHtoD")) {
      TraceWords words(line, ',');
      words.next();
      const auto address = words.number(16, k_max_address);
      const auto bytes = words.number(10, k_max_address);
      if (!address || !bytes || *bytes == 0) lines_.fail("a copy is MemcpyHtoD,ADDRESS,BYTES: correct the line");
      if (with_copies) add_allocation(lines_, {"copy " + std::to_string(allocations_.size()), *address, *bytes});
    } else {
      lines_.fail("'" + line.substr(0, k_max_excerpt) +
                  "' is neither MemcpyHtoD,ADDRESS,BYTES nor a kernel's file: correct or remove the line");
    }
  }
  if (kernels_.empty())
    lines_.fail("the list names no kernel: add a line with a kernel's file, such as kernel-1.traceg");
}

void AccelSimReader::read_allocations(const std::filesystem::path& path) {
  Lines lines;
  lines.open(path);
  while (lines.next()) {
    TraceWords words(lines.line(), ' ');
    const auto wrong = [&](const char* what) { lines.fail(std::string(what) + "; a line is NAME ADDRESS BYTES"); };
    const auto name = words.next();
    const auto address = words.number(16, k_max_address);
    if (!address) wrong("ADDRESS is no hexadecimal number of at most 57 bits");
    const auto bytes = words.number(10, k_max_address);
    if (!bytes || *bytes == 0) wrong("BYTES is no decimal number from 1 on");
    if (!words.next().empty()) wrong("more follows behind BYTES");
    add_allocation(lines, {std::string(name), *address, *bytes});
  }
}

void AccelSimReader::add_allocation(const Lines& lines, Allocation allocation) {
  if (allocation.bytes > k_max_allocated - allocated_)
    lines.fail("allocations of more than 64 GiB: correct their sizes, or trace a smaller run");
  allocated_ += allocation.bytes;
  allocations_.push_back(std::move(allocation));
}

bool AccelSimReader::next(TraceEvent& event) {
  for (Cta passed_over; ctas_left_ != 0;) next_cta(passed_over);
  if (allocations_.empty() && !opened_ && !kernels_.empty()) {
    opened_ = open_kernel(kernels_.front());
    kernels_.pop_front();
  }
  if (!allocations_.empty()) {
    event = std::move(allocations_.front());
    allocations_.pop_front();
    return true;
  }
  if (!opened_) return false;
  warps_ = opened_->warps();
  ctas_left_ = opened_->ctas;
  event = *std::exchange(opened_, std::nullopt);
  return true;
}

// Allocates the part of local memory that the kernel accesses, which takes a pass through the file: allocating the
// whole window would create unused pages.
void AccelSimReader::allocate_local(const std::filesystem::path& path) {
  Lines lines;
  lines.open(path);
  Cta accesses;
  AccelSimWarp reader(accesses, bases_);
  auto begin = local_begin_;
  auto end = local_end_;
  while (lines.next()) {
    if (!may_be_local(lines.line())) continue;
    accesses.clear();
    // Errors are reported when the line is read again.
    if (!reader.add(lines.line()).empty()) continue;
    for (const auto& part : accesses.lines) {
      if (part.address() < bases_.local || part.address() - bases_.local >= k_window) continue;
      begin = begin == end ? part.address() : std::min(begin, part.address());
      end = std::max(end, part.address() + k_line_bytes);
    }
  }
  if (begin == local_begin_ && end == local_end_) return;
  local_begin_ = begin;
  local_end_ = end;
  add_allocation(lines, {"local memory", begin, end - begin});
}

Kernel AccelSimReader::open_kernel(const std::string& name) {
  Kernel kernel;
  lines_.open(list_.parent_path() / name);
  std::uint64_t version = 0;
  bases_ = {};
  while (lines_.next() && !lines_.line().starts_with('#')) {
    const std::string_view line = lines_.line();
    const auto equals = line.find(" = ");
    if (!line.starts_with('-') || equals == std::string_view::npos)
      lines_.fail("expected -KEY = VALUE in the head, found '" + std::string(line.substr(0, k_max_excerpt)) +
                  "': correct the line, or record the trace again");
    const auto key = line.substr(1, equals - 1);
    const auto value = line.substr(equals + 3);
    TraceWords words(value, ' ');
    const auto number = [&](std::uint64_t most) {
      const auto read = words.number(10, most);
      if (!read)
        lines_.fail("'" + std::string(value) + "' is no number for " + std::string(key) +
                    ": record the trace again");
      return *read;
    };
    if (key == "kernel name") kernel.name = value;
    if (key == "grid dim") kernel.ctas = static_cast<std::uint32_t>(product_of(value));
    if (key == "block dim") kernel.threads = static_cast<std::uint32_t>(product_of(value));
    if (key == "shmem") kernel.shared_bytes = static_cast<std::uint32_t>(number(0xffffffff));
    if (key == "nregs") kernel.registers = static_cast<std::uint32_t>(number(0xffff));
    if (key == "accelsim tracer version") version = number(1000);
    if (key == "enable lineinfo" && number(1) == 1)
      lines_.fail("a trace with line numbers is not read: record it with TRACE_LINEINFO=0");
    for (const auto& [of, base] :
         {std::pair("shmem base_addr", &bases_.shared), std::pair("local mem base_addr", &bases_.local)}) {
      if (key != of) continue;
      const auto read = words.number(16, k_max_address - k_window);
      if (!read)
        lines_.fail("'" + std::string(value) + "' is no address for " + std::string(key) +
                    ": record the trace again");
      *base = *read;
    }
  }
  if (kernel.ctas == 0 || kernel.threads == 0 || kernel.threads > k_max_threads)
    lines_.fail("the head gives " + std::to_string(kernel.ctas) + " CTAs of " + std::to_string(kernel.threads) +
                " threads; a kernel has at least 1 CTA, of 1 to 1024 threads: correct grid dim and block dim");
  if (version < 3 || version > 5)
    lines_.fail("the trace has tracer version " + std::to_string(version) +
                ", and 3 to 5 are read: record it again with one of these");
  if (bases_.local != 0) allocate_local(list_.parent_path() / name);
  return kernel;
}

bool AccelSimReader::next_cta(Cta& cta) {
  if (ctas_left_ == 0) return false;
  cta.clear();
  while (lines_.next() && lines_.line() != "#BEGIN_TB") {
    if (!lines_.line().starts_with('#'))
      lines_.fail("expected #BEGIN_TB, which begins a CTA, found '" + lines_.line().substr(0, k_max_excerpt) +
                  "': correct the line, or record the trace again");
  }
  if (lines_.line() != "#BEGIN_TB")
    lines_.fail("the file ends before the kernel's last CTA: record the trace again");
  cta.warps.resize(warps_);
  std::vector<bool> is_there(warps_);
  std::optional<std::uint64_t> last;  // number of the previous warp
  std::uint64_t instructions = 0;     // of the current warp
  for (;;) {
    if (!lines_.next()) lines_.fail("the file ends within a CTA: record the trace again");
    if (lines_.line() == "#END_TB") break;
    if (lines_.line().starts_with("thread block = ")) continue;
    if (last && std::isxdigit(static_cast<unsigned char>(lines_.line().front())) != 0)
      lines_.fail("warp " + std::to_string(*last) + " has more instructions than the " +
                  std::to_string(instructions) + " that insts says: record the trace again");
    const auto warp = read_number("warp = ", warps_ - 1);
    if (is_there[warp])
      lines_.fail("warp " + std::to_string(warp) + " comes twice in its CTA: record the trace again");
    is_there[warp] = true;
    const auto first_step = static_cast<std::uint32_t>(cta.steps.size());
    const auto first_line = static_cast<std::uint32_t>(cta.lines.size());
    if (!lines_.next()) lines_.fail("the file ends within a CTA: record the trace again");
    instructions = read_number("insts = ", 0xffffffff);
    last = warp;
    AccelSimWarp reader(cta, bases_);
    for (std::uint64_t i = 0; i < instructions; ++i) {
      if (!lines_.next()) lines_.fail("the file ends within a warp: record the trace again");
      if (lines_.line().starts_with('#') || lines_.line().starts_with("warp = "))
        lines_.fail("warp " + std::to_string(warp) + " has " + std::to_string(i) + " instructions, insts says " +
                    std::to_string(instructions) + ": record the trace again");
      if (const auto wrong = reader.add(lines_.line()); !wrong.empty()) lines_.fail(wrong);
    }
    cta.warps[warp] = {first_step, first_line, static_cast<std::uint32_t>(cta.steps.size()) - first_step,
                       reader.after()};
  }
  --ctas_left_;
  return true;
}

std::uint64_t AccelSimReader::read_number(std::string_view after, std::uint64_t most) {
  const std::string_view line = lines_.line();
  if (line.starts_with(after)) {
    TraceWords words(line.substr(after.size()), ' ');
    if (const auto number = words.number(10, most)) return *number;
  }
  lines_.fail("expected '" + std::string(after) + "' and a number of at most " + std::to_string(most) +
              ", found '" + std::string(line.substr(0, k_max_excerpt)) + "': record the trace again");
}

}  // namespace terrace::gpu_sim
