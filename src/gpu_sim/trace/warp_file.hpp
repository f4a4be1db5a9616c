// Traces of warps as files (*.warps): what gpu_sim/simt runs, kept, so that each machine and policy is a replay.
//
// Layout, little-endian: "TERWARPS", u32 version; then blocks. A block: u32 kind (1 allocation, 2 kernel, 3 CTAs,
// 4 end), u32 size as stored, u32 size, u32 CRC-32C of these and of what is stored; blocks of CTAs are zstd
// frames. Numbers within are LEB128, names are printable ASCII. Every file ends with a block of kind 4, which
// counts the CTAs: one without has been cut off.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

class WarpFileWriter final : public TraceSink {
 public:
  // The file is written beside its place, and is there once it has its end; a device is written to. Throws
  // Error{failed} where it cannot be written, here and later, and Error{invalid} where a file is there that is no
  // trace of warps.
  explicit WarpFileWriter(const std::filesystem::path& path);
  ~WarpFileWriter() override;
  WarpFileWriter(const WarpFileWriter&) = delete;
  WarpFileWriter& operator=(const WarpFileWriter&) = delete;

  void add(const Allocation& allocation) override;
  void begin(const Kernel& kernel) override;
  void add(const Cta& cta) override;
  // Writes the end, and puts the file in its place. Without it nothing is left.
  void finish();

 private:
  void flush_ctas();
  void write_block(std::uint32_t kind, const std::vector<std::byte>& stored, std::size_t size);
  void write(const void* bytes, std::size_t size);

  struct Compressor;
  std::filesystem::path path_;    // as it was given
  std::filesystem::path target_;  // what it leads to
  std::filesystem::path beside_;  // where it is written; the target where that is a device
  std::FILE* file_ = nullptr;
  std::unique_ptr<Compressor> compressor_;
  std::vector<std::byte> ctas_;
  std::uint64_t written_ctas_ = 0;
};

class WarpFileReader final : public TraceSource {
 public:
  // Throws Error{corrupt} with the file's name and the offset where it breaks the format, here and later;
  // Error{not_found} where there is no such file.
  explicit WarpFileReader(const std::filesystem::path& path);
  ~WarpFileReader() override;
  WarpFileReader(const WarpFileReader&) = delete;
  WarpFileReader& operator=(const WarpFileReader&) = delete;

  bool next(TraceEvent& event) override;
  bool next_cta(Cta& cta) override;

 private:
  struct Block {
    std::uint32_t kind = 0;
    std::uint32_t size = 0;
  };
  Block read_block();
  void decompress(std::uint32_t size);
  void read_cta(Cta& cta);
  [[noreturn]] void fail(const std::string& what) const;

  struct State;
  std::filesystem::path path_;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::gpu_sim
