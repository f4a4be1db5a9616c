// SPDX-License-Identifier: Apache-2.0
// Reads traces of warps (*.warps) from arbitrary bytes and checks every field, for the GPU simulator. See
// warp_file.hpp.
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/blob.hpp"
#include "core/error.hpp"
#include "gpu_sim/trace/warp_file.hpp"
#include "sim/recording/recording_codec.hpp"

namespace terrace::gpu_sim {
namespace {

// Reports a malformed block; the caller adds the offset.
[[noreturn]] void corrupt(const char* what) { throw Error(Code::corrupt, what); }

std::string name_in(sim::ColumnReader& in) {
  const auto name = in.text();
  if (!is_name(name)) corrupt("a name that is not printable ASCII");
  return std::string(name);
}

}  // namespace

struct WarpFileReader::State {
  std::FILE* file = nullptr;
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  std::uint64_t at = 0;        // offset in the file, after what was read
  std::uint64_t block_at = 0;  // offset of the current block
  std::vector<std::byte> stored, bytes;
  sim::ColumnReader ctas;
  Kernel kernel;
  std::uint32_t ctas_left = 0;  // of the current kernel
  std::uint64_t ctas_read = 0;
  std::uint64_t allocated = 0;  // bytes
  bool ended = false;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    ZSTD_freeDCtx(zstd);
    if (file != nullptr) static_cast<void>(std::fclose(file));
  }
};

WarpFileReader::WarpFileReader(const std::filesystem::path& path)
    : path_(path), state_(std::make_unique<State>()) {
  state_->file = std::fopen(path.c_str(), "rbe");
  if (state_->file == nullptr) throw Error(Code::not_found, path_.string() + ": " + std::strerror(errno));
  std::array<char, k_warps_magic.size()> magic{};
  std::uint32_t version = 0;
  if (std::fread(magic.data(), 1, magic.size(), state_->file) != magic.size() ||
      std::string_view(magic.data(), magic.size()) != k_warps_magic)
    fail("not a trace of GPU warps; give a *.warps file that terrace lab gpu --save-trace wrote");
  state_->at = magic.size();
  if (std::fread(&version, 1, sizeof version, state_->file) != sizeof version) fail("the file ends in its head");
  if (version != k_warps_version)
    fail("the trace has version " + std::to_string(version) + ", this program reads version " +
         std::to_string(k_warps_version));
  state_->at += sizeof version;
}

WarpFileReader::~WarpFileReader() = default;

bool WarpFileReader::next(TraceEvent& event) {
  auto& state = *state_;
  for (Cta passed_over; state.ctas_left != 0;) next_cta(passed_over);
  if (!state.ctas.at_end()) fail("a block has more CTAs than the kernel");
  if (state.ended) return false;
  const auto block = read_block();
  sim::ColumnReader in(state.stored);
  try {
    if (block.kind == k_allocation_block) {
      Allocation allocation;
      allocation.name = name_in(in);
      allocation.address = in.number(k_max_line * k_line_bytes);
      allocation.bytes = in.number();
      if (allocation.bytes == 0) corrupt("an allocation of no bytes");
      if (allocation.bytes > k_max_allocated - state.allocated) corrupt("allocations of more than 64 GiB");
      if (!in.at_end()) corrupt("a block holds more than an allocation");
      state.allocated += allocation.bytes;
      event = allocation;
      return true;
    }
    if (block.kind == k_kernel_block) {
      Kernel kernel;
      kernel.name = name_in(in);
      kernel.ctas = static_cast<std::uint32_t>(in.number(0xffffffff));
      kernel.threads = static_cast<std::uint32_t>(in.number(k_max_threads));
      kernel.registers = static_cast<std::uint32_t>(in.number(0xffff));
      kernel.shared_bytes = static_cast<std::uint32_t>(in.number(0xffffffff));
      if (kernel.ctas == 0 || kernel.threads == 0) corrupt("a kernel of no threads");
      if (!in.at_end()) corrupt("a block holds more than a kernel");
      state.kernel = kernel;
      state.ctas_left = kernel.ctas;
      event = std::move(kernel);
      return true;
    }
    if (block.kind == k_end_block) {
      if (in.number() != state.ctas_read) corrupt("the end counts other CTAs than there are");
      if (!in.at_end() || std::fgetc(state.file) != EOF) corrupt("bytes follow behind the end");
      state.ended = true;
      return false;
    }
  } catch (const Error& error) {
    fail(error.what());
  }
  fail("a block has an unknown kind");
}

bool WarpFileReader::next_cta(Cta& cta) {
  auto& state = *state_;
  if (state.ctas_left == 0) return false;
  if (state.ctas.at_end()) {
    const auto block = read_block();
    if (block.kind != k_ctas_block) fail("a kernel has fewer CTAs than it states");
    decompress(block.size);
    state.ctas = sim::ColumnReader(state.bytes);
  }
  try {
    read_cta(cta);
  } catch (const Error& error) {
    fail(error.what());
  }
  --state.ctas_left;
  ++state.ctas_read;
  return true;
}

void WarpFileReader::read_cta(Cta& cta) {
  auto& in = state_->ctas;
  cta.clear();
  if (in.number() != state_->kernel.warps()) corrupt("a CTA has another number of warps than its kernel says");
  for (std::uint32_t w = 0; w < state_->kernel.warps(); ++w) {
    WarpSteps warp;
    warp.first_step = static_cast<std::uint32_t>(cta.steps.size());
    warp.first_line = static_cast<std::uint32_t>(cta.lines.size());
    warp.steps = static_cast<std::uint32_t>(in.number(in.remaining()));
    warp.after = static_cast<std::uint32_t>(in.number(0xffffffff));
    std::uint64_t last = 0;
    std::uint64_t loads = 0;
    for (std::uint32_t i = 0; i < warp.steps; ++i) {
      Step step;
      const auto number = in.number(std::uint64_t{0xffffffff} * k_step_kinds);
      step.kind = static_cast<StepKind>(number % k_step_kinds);
      step.before = static_cast<std::uint32_t>(number / k_step_kinds);
      if (step.kind == StepKind::use) {
        step.back = static_cast<std::uint32_t>(in.number(k_max_loads_back));
        if (step.back == 0 || step.back > loads) corrupt("a warp waits for a load that it has not made");
      }
      if (is_access(step.kind)) {
        if (returns_value(step.kind)) ++loads;
        step.lanes = in.byte();
        step.lines = in.byte();
        if (step.lanes == 0 || step.lanes > k_lanes || step.lines == 0 || step.lines > k_max_lines)
          corrupt("an access of no lanes or lines, or of too many");
        for (std::uint32_t k = 0; k < step.lines; ++k) {
          const auto part = in.number();
          last += static_cast<std::uint64_t>(sim::unzigzag(part >> 4));
          if ((part & 15) == 0 || last >= k_max_line)
            corrupt("a line part of no sectors, or beyond all addresses");
          cta.lines.emplace_back(last, static_cast<std::uint32_t>(part & 15));
        }
      }
      cta.steps.push_back(step);
    }
    cta.warps.push_back(warp);
  }
}

WarpFileReader::Block WarpFileReader::read_block() {
  auto& state = *state_;
  state.block_at = state.at;
  std::array<std::uint32_t, 4> head{};
  const auto got = std::fread(head.data(), 1, sizeof head, state.file);
  if (got != sizeof head) fail(got == 0 ? "the file ends without an end block" : "the file ends within a block");
  const auto [kind, stored, size, sum] = head;
  if (stored > k_max_block_bytes || size > k_max_block_bytes) fail("a block is too large");
  // Read in pieces, so that a wrong size takes no more memory than the file has bytes.
  state.stored.clear();
  while (state.stored.size() < stored) {
    const auto from = state.stored.size();
    const auto piece = std::min<std::size_t>(stored - from, 1U << 20);
    state.stored.resize(from + piece);
    if (std::fread(state.stored.data() + from, 1, piece, state.file) != piece)
      fail("the file ends within a block");
  }
  if (crc32c(state.stored, crc32c(std::as_bytes(std::span(head).first<3>()))) != sum) fail("a block is damaged");
  state.at += sizeof head + stored;
  return {kind, size};
}

void WarpFileReader::decompress(std::uint32_t size) {
  auto& state = *state_;
  if (ZSTD_getFrameContentSize(state.stored.data(), state.stored.size()) != size)
    fail("a block's size is not the one that it states");
  state.bytes.resize(size);
  const auto got =
      ZSTD_decompressDCtx(state.zstd, state.bytes.data(), size, state.stored.data(), state.stored.size());
  if (ZSTD_isError(got) != 0 || got != size) fail("a block cannot be decompressed");
}

void WarpFileReader::fail(const std::string& what) const {
  throw Error(Code::corrupt, path_.string() + ", byte " + std::to_string(state_->block_at) + ": " + what +
                                 ": write the trace again");
}

}  // namespace terrace::gpu_sim
