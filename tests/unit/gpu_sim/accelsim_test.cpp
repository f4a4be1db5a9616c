// Tests Accel-Sim's kernel traces: the meaning of instructions, all encodings of addresses, and errors with
// offsets.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "core/error.hpp"
#include "gpu_sim/trace/accelsim_reader.hpp"

namespace terrace::gpu_sim {
namespace {

namespace fs = std::filesystem;

const std::string k_head =
    "-kernel name = _Z3sumPfS_\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (32,2,1)\n-shmem = 1024\n"
    "-nregs = 16\n-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n"
    "-local mem base_addr = 0x00007f0002000000\n-nvbit version = 1.5\n-accelsim tracer version = 3\n\n"
    "#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] "
    "[mem_addresses]\n\n";

std::string cta(const std::string& first, const std::string& second) {
  const auto warp = [](int number, const std::string& text) {
    return "warp = " + std::to_string(number) +
           "\ninsts = " + std::to_string(std::count(text.begin(), text.end(), '\n')) + "\n" + text + "\n";
  };
  return "#BEGIN_TB\n\nthread block = 0,0,0\n\n" + warp(0, first) + warp(1, second) + "#END_TB\n\n";
}

class AccelSim : public testing::Test {
 protected:
  AccelSim() {
    fs::create_directory(folder_);
    write("kernelslist.g",
          "MemcpyHtoD,0x00007efe7b500000,8192\nMemcpyHtoD,0x00007efe7b600000,4096\nkernel-1.traceg\n");
  }
  ~AccelSim() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  // The first kernel's CTAs.
  [[nodiscard]] std::vector<Cta> read(const std::string& side = "") const {
    AccelSimReader reader(folder_ / "kernelslist.g", side.empty() ? fs::path() : folder_ / side);
    std::vector<Cta> ctas;
    for (TraceEvent event; reader.next(event);)
      if (std::holds_alternative<Kernel>(event))
        for (Cta next; reader.next_cta(next);) ctas.push_back(next);
    return ctas;
  }
  [[nodiscard]] Cta warp(const std::string& instructions) const {
    write("kernel-1.traceg", k_head + cta(instructions, "") + cta("", ""));
    return read().front();
  }
  [[nodiscard]] std::string complaint(const std::string& text) const {
    write("kernel-1.traceg", text);
    try {
      static_cast<void>(read());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt);
      return error.what();
    }
    return "none";
  }
  fs::path folder_ = fs::temp_directory_path() / ("accelsim_test." + std::to_string(getpid()));
};

TEST_F(AccelSim, List_GivesKernelsAndAllocations) {
  write("kernel-1.traceg", k_head + cta("", "") + cta("", ""));
  AccelSimReader reader(folder_ / "kernelslist.g");
  TraceEvent event;
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(std::get<Allocation>(event).address, 0x7efe7b500000U);
  EXPECT_EQ(std::get<Allocation>(event).bytes, 8192U);
  ASSERT_TRUE(reader.next(event));
  ASSERT_TRUE(reader.next(event));
  const auto kernel = std::get<Kernel>(event);
  EXPECT_EQ(kernel.name, "_Z3sumPfS_");
  EXPECT_EQ(kernel.ctas, 2U);
  EXPECT_EQ(kernel.threads, 64U);
  EXPECT_EQ(kernel.registers, 16U);
  EXPECT_EQ(kernel.shared_bytes, 1024U);
  EXPECT_FALSE(reader.next(event));
}

TEST_F(AccelSim, SideFile_GivesAllocations) {
  write("kernel-1.traceg", k_head + cta("", "") + cta("", ""));
  write("side", "x 7efe7b500000 4096\ny 0x7efe7b501000 100\n");
  AccelSimReader reader(folder_ / "kernelslist.g", folder_ / "side");
  TraceEvent event;
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(std::get<Allocation>(event).name, "x");
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(std::get<Allocation>(event).address, 0x7efe7b501000U);
  ASSERT_TRUE(reader.next(event));
  EXPECT_TRUE(std::holds_alternative<Kernel>(event));
  const auto said = [&](const std::string& line) -> std::string {
    write("side", "x 7efe7b500000 4096\n" + line + "\n");
    try {
      AccelSimReader(folder_ / "kernelslist.g", folder_ / "side");
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  const auto place = (folder_ / "side").string() + ", byte 20: ";
  EXPECT_EQ(said("y 7efe7b501000"), place + "BYTES is no decimal number from 1 on; a line is NAME ADDRESS BYTES");
  EXPECT_EQ(said("y 7efe7b501000 0x10"),
            place + "BYTES is no decimal number from 1 on; a line is NAME ADDRESS BYTES");
  EXPECT_EQ(said("y here 4096"),
            place + "ADDRESS is no hexadecimal number of at most 57 bits; a line is NAME ADDRESS BYTES");
  EXPECT_EQ(said("y 7efe7b501000 4096 z"), place + "more follows behind BYTES; a line is NAME ADDRESS BYTES");
}

TEST_F(AccelSim, Addresses_AreReadInAllModes) {
  // Stride 4 over 32 lanes: a line.
  auto read = warp("0010 ffffffff 1 R2 LDG.E.SYS 1 R4 4 1 0x7efe7b500000 4 \n");
  ASSERT_EQ(read.steps.size(), 1U);
  EXPECT_EQ(read.steps[0].kind, StepKind::load);
  EXPECT_EQ(read.steps[0].lanes, 32);
  ASSERT_EQ(read.lines.size(), 1U);
  EXPECT_EQ(read.lines[0].address(), 0x7efe7b500000U);
  EXPECT_EQ(read.lines[0].sectors(), 15U);
  // Differences from the previous lane's address.
  read = warp("0010 0000000f 1 R2 LDG.E.64 1 R4 8 2 0x7efe7b500000 8 256 -128 \n");
  ASSERT_EQ(read.lines.size(), 3U);
  EXPECT_EQ(read.lines[0].sectors(), 1U);
  EXPECT_EQ(read.lines[1].address(), 0x7efe7b500100U);
  EXPECT_EQ(read.lines[2].address(), 0x7efe7b500080U);
  // A list, for some lanes; 16 bytes each.
  read = warp("0010 80000001 0  STG.E.128 2 R4 R6 16 0 0x7efe7b500010 7efe7b600000 \n");
  EXPECT_EQ(read.steps[0].kind, StepKind::store);
  EXPECT_EQ(read.steps[0].lanes, 2);
  ASSERT_EQ(read.lines.size(), 2U);
  EXPECT_EQ(read.lines[1].address(), 0x7efe7b600000U);
}

// A warp that reads a register which a load fills waits for it; an overwritten register is not waited for.
TEST_F(AccelSim, RegistersFilledByLoads_MakeWarpsWait) {
  const auto read = warp(
      "0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 \n"
      "0010 ffffffff 1 R2 LDG.E.SYS 1 R4 4 1 0x7efe7b500000 4 \n"
      "0020 ffffffff 1 R6 LDG.E.64.SYS 1 R4 8 1 0x7efe7b500100 8 \n"
      "0030 ffffffff 1 R8 IADD3 2 R9 R10 0 \n"
      "0040 ffffffff 1 R8 FADD 2 R7 R8 0 \n"  // R7 is the second half of R6
      "0050 ffffffff 1 R2 MOV 1 R8 0 \n"      // overwrites what the first load returns
      "0060 ffffffff 1 R3 FADD 2 R2 R6 0 \n"
      "0070 ffffffff 0  STG.E.SYS 2 R4 R3 4 1 0x7efe7b600000 4 \n"
      "0080 ffffffff 0  BAR.SYNC 0 0 \n"
      "0090 ffffffff 0  EXIT 0 0 \n");
  std::vector<StepKind> kinds;
  for (const auto& step : read.steps) kinds.push_back(step.kind);
  using enum StepKind;
  EXPECT_EQ(kinds, (std::vector{load, load, use, store, barrier}));
  EXPECT_EQ(read.steps[0].before, 1U);
  EXPECT_EQ(read.steps[2].back, 1U);
  EXPECT_EQ(read.steps[2].before, 1U);
  EXPECT_EQ(read.steps[3].before, 3U);
  EXPECT_EQ(read.warps[0].after, 1U);
  EXPECT_EQ(read.instructions(), 10U);
}

TEST_F(AccelSim, OtherMemories_CountAsInstructions) {
  const auto read = warp(
      "0000 ffffffff 1 R2 LDS.U 1 R4 4 1 0x10 4 \n"
      "0010 ffffffff 1 R2 LD.E.SYS 1 R4 4 1 0x7f0000000400 4 \n"  // shared memory by a generic address
      "0020 00000000 1 R2 LDG.E.SYS 1 R4 4 \n"                    // no active lane
      "0030 ffffffff 1 R2 ATOMG.E.ADD 2 R4 R5 4 1 0x7efe7b500000 0 \n"
      "0040 ffffffff 1 P0 ISETP.GE.AND 2 R2 R1 0 \n");
  ASSERT_EQ(read.steps.size(), 2U);
  EXPECT_EQ(read.steps[0].kind, StepKind::atomic);
  EXPECT_EQ(read.steps[0].before, 3U);
  EXPECT_EQ(read.steps[1].kind, StepKind::use);
}

TEST_F(AccelSim, KnownAccessesElsewhere_CountAsInstructions) {
  for (const std::string name :
       {"LDS.64", "STS", "ATOMS.ADD", "LDSM.16.M88.4", "STSM", "LDC", "LDC.U8", "LDCU", "ULDC"}) {
    const auto read = warp("0000 ffffffff 1 R2 " + name + " 1 R4 4 1 0x10 4 \n");
    EXPECT_TRUE(read.steps.empty()) << name;
    EXPECT_EQ(read.instructions(), 1U) << name;
  }
}

// Local memory is at the header's address, given as an offset or as a generic address.
TEST_F(AccelSim, LocalMemory_IsAllocated) {
  const std::string uses =
      "0000 ffffffff 1 R2 LDL.64 1 R1 8 1 0xfffc80 0 \n0010 ffffffff 0 STL 2 R1 R2 4 1 0x7f0002fffd00 0 \n"
      "0020 ffffffff 1 R2 LD.E 1 R4 4 1 0x7f0002fffd80 0 \n0030 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7efe7b500000 0 \n";
  write("kernel-1.traceg", k_head + cta(uses, "") + cta("", ""));
  write("kernelslist.g", "MemcpyHtoD,0x00007efe7b500000,8192\nkernel-1.traceg\nkernel-1.traceg\n");
  AccelSimReader reader(folder_ / "kernelslist.g");
  std::vector<Allocation> allocations;
  std::vector<Cta> ctas;
  for (TraceEvent event; reader.next(event);) {
    if (const auto* allocation = std::get_if<Allocation>(&event)) allocations.push_back(*allocation);
    for (Cta next; reader.next_cta(next);) ctas.push_back(next);
  }
  // The kernel is listed twice; its local memory is allocated once.
  ASSERT_EQ(allocations.size(), 2U);
  EXPECT_EQ(allocations[1].name, "local memory");
  EXPECT_EQ(allocations[1].address, 0x7f0002fffc80U);
  EXPECT_EQ(allocations[1].bytes, 3 * k_line_bytes);
  ASSERT_EQ(ctas.size(), 4U);
  ASSERT_EQ(ctas[0].steps.size(), 5U);
  EXPECT_EQ(ctas[0].steps[0].kind, StepKind::load);
  EXPECT_EQ(ctas[0].steps[1].kind, StepKind::use);
  EXPECT_EQ(ctas[0].steps[2].kind, StepKind::store);
  EXPECT_EQ(ctas[0].lines[0].address(), 0x7f0002fffc80U);
  EXPECT_EQ(ctas[0].lines[1].address(), 0x7f0002fffd00U);
}

TEST_F(AccelSim, UnknownInstructions_AreRejected) {
  const auto ends_with = [](const std::string& text, const std::string& end) { return text.ends_with(end); };
  const auto said = [&](const std::string& line) { return complaint(k_head + cta(line, "") + cta("", "")); };
  const auto exit = std::string("0000 ffffffff 0  EXIT 0 0 \n");
  const auto at =
      std::to_string((k_head + "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 2\n" + exit).size());
  for (const std::string name : {"SULD", "TEX", "TLD", "CCTL", "XYZ"})
    EXPECT_PRED2(ends_with, said(exit + "0010 ffffffff 1 R2 " + name + ".D.32 1 R4 4 1 0x10 4 \n"),
                 "kernel-1.traceg, byte " + at + ": " + name + " accesses memory, and is not read");
  EXPECT_EQ(said("0010 ffffffff 0 CCTL.IVALL 0 0 \n"), "none");
  EXPECT_PRED2(ends_with, said("0010 ffffffff 1 R2 MOV 1 R4 \n"),
               ": MOV has no width of its access, which is 0 where it is none");
  EXPECT_PRED2(ends_with, said("0010 ffffffff 1 R2 LDL 1 R1 4 1 0x7f0003000000 0 \n"),
               ": LDL accesses an address beyond the 16 MiB of local memory");
  auto head = k_head;
  head.erase(head.find("-local mem"), std::string("-local mem base_addr = 0x00007f0002000000\n").size());
  EXPECT_PRED2(ends_with, complaint(head + cta("0010 ffffffff 0 STL 2 R1 R2 4 1 0xfffc80 0 \n", "")),
               ": STL accesses local memory, and the kernel's head has no -local mem base_addr");
  auto text = k_head + cta(exit + exit + exit, "") + cta("", "");
  EXPECT_EQ(complaint(text), "none");
  text.replace(text.find("insts = 3"), 9, "insts = 4");
  EXPECT_PRED2(ends_with, complaint(text), ": warp 0 has 3 instructions, insts says 4: record the trace again");
  text.replace(text.find("insts = 4"), 9, "insts = 2");
  EXPECT_PRED2(ends_with, complaint(text),
               ": warp 0 has more instructions than the 2 that insts says: record the trace again");
  write("kernelslist.g", "kernel-1.traceg\nncclGroupStart\n");
  EXPECT_PRED2(ends_with, said(exit),
               "kernelslist.g, byte 16: 'ncclGroupStart' is neither MemcpyHtoD,ADDRESS,BYTES nor a kernel's file: "
               "correct or remove the line");
}

TEST_F(AccelSim, Errors_NameTheOffset) {
  const auto good = k_head + cta("0000 ffffffff 0  EXIT 0 0 \n", "") + cta("", "");
  EXPECT_EQ(complaint(good), "none");
  const auto place = (folder_ / "kernel-1.traceg").string() + ", byte ";
  EXPECT_EQ(complaint(k_head + "thread block = 0,0,0\n"),
            place + std::to_string(k_head.size()) +
                ": expected #BEGIN_TB, which begins a CTA, found 'thread block = 0,0,0': correct the line, or "
                "record the trace again");
  EXPECT_NE(complaint(k_head + cta("", "")).find("the file ends before the kernel's last CTA"), std::string::npos);
  EXPECT_NE(
      complaint(k_head + cta("0000 ffffffff 1 R2 LDG.E 1 R4 4 3 0x1000 \n", "")).find("not as its mode says"),
      std::string::npos);
  EXPECT_NE(complaint(k_head + cta("0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0xffffffffffffff00 4 \n", ""))
                .find("an address is beyond 57 bits"),
            std::string::npos);
  EXPECT_NE(complaint(k_head + cta("0000 zz 0 EXIT 0 0\n", "")).find("the mask of its lanes"), std::string::npos);
  EXPECT_NE(complaint("-grid dim = (1,1,1)\n#\n").find("the head gives 1 CTAs of 0 threads"), std::string::npos);
  write("kernelslist.g", "MemcpyHtoD,xyz,12\n");
  EXPECT_NE(complaint(good).find("kernelslist.g, byte 0: a copy is MemcpyHtoD,ADDRESS,BYTES"), std::string::npos);
  write("kernelslist.g", "kernel-9.traceg\n");
  EXPECT_THROW(static_cast<void>(read()), Error);
}

// A line is not read whole before its length is checked, nor an allocation accepted before its size is.
TEST_F(AccelSim, ExcessiveSizes_AreRejected) {
  const auto good = k_head + cta("0000 ffffffff 0  EXIT 0 0 \n", "") + cta("", "");
  const auto ends_with = [](const std::string& text, const std::string& end) { return text.ends_with(end); };
  EXPECT_PRED2(ends_with, complaint(std::string(1 << 20, 'x')),
               ", byte 0: a line of more than 65536 characters: correct it, or record the trace again");
  EXPECT_PRED2(ends_with, complaint("-kernel name = k\xff\n" + good),
               ", byte 0: a line that is not printable ASCII: correct it, or record the trace again");
  write("kernelslist.g", "MemcpyHtoD,0x1000,68719476736\nMemcpyHtoD,0x1000,1\nkernel-1.traceg\n");
  EXPECT_PRED2(
      ends_with, complaint(good),
      "kernelslist.g, byte 30: allocations of more than 64 GiB: correct their sizes, or trace a smaller run");
}

TEST_F(AccelSim, UnreadableFiles_AreReportedWithTheReason) {
  const auto said = [](const fs::path& list) -> std::string {
    try {
      AccelSimReader reader(list);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::not_found);
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(said("/nowhere/list.g"), "/nowhere/list.g cannot be read: No such file or directory");
  EXPECT_EQ(said(folder_), folder_.string() + " cannot be read: it is a folder; name a file in it");
}

TEST_F(AccelSim, MissingKernelFiles_AreRejected) {
  write("kernel-1.traceg", k_head + cta("", "") + cta("", ""));
  const auto ends_with = [](const std::string& text, const std::string& end) { return text.ends_with(end); };
  const auto good = k_head + cta("", "") + cta("", "");
  write("kernelslist.g", "kernel-1.traceg\nkernel-9.traceg\n");
  EXPECT_PRED2(ends_with, complaint(good), "kernelslist.g, byte 16: there is no file kernel-9.traceg");
  const auto endless = "kernel-" + std::string(300, '1');
  write("kernelslist.g", "kernel-1.traceg\n" + endless + "\n");
  EXPECT_PRED2(ends_with, complaint(good), "kernelslist.g, byte 16: there is no file " + endless);
  write("kernelslist.g", "");
  EXPECT_PRED2(
      ends_with, complaint(good),
      "kernelslist.g, byte 0: the list names no kernel: add a line with a kernel's file, such as kernel-1.traceg");
}

// Any change of a file is read, or rejected with one line.
TEST_F(AccelSim, RandomDamage_IsReadOrRejectedInOneLine) {
  const auto good = k_head +
                    cta("0010 ffffffff 1 R2 LDG.E.SYS 1 R4 4 1 0x7efe7b500000 4 \n0020 0000000f 1 R2 LDG.E.64 "
                        "1 R4 8 2 0x7efe7b500000 8 256 -128 \n",
                        "0000 ffffffff 0  EXIT 0 0 \n") +
                    cta("", "");
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    auto text = good;
    for (auto changes = 1 + random() % 3; changes != 0; --changes) {
      const auto at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 40);
      else
        text[at] = static_cast<char>(random() % 5 == 0 ? random() % 256 : text[random() % text.size()]);
    }
    const auto said = complaint(text);
    if (said != "none") {
      EXPECT_NE(said.find(", byte "), std::string::npos) << said;
      EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
  }
}

}  // namespace
}  // namespace terrace::gpu_sim
