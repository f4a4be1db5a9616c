// Tests which programs can load this build's libraries, by ELF files and scripts that the tests write byte by
// byte.
#include "core/program_loader.hpp"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace terrace {
namespace {

namespace fs = std::filesystem;

ElfW(Ehdr) own_header() {
  ElfW(Ehdr) header{};
  std::ifstream("/proc/self/exe", std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  return header;
}

class ProgramFile : public ::testing::Test {
 protected:
  ProgramFile() : folder_(fs::temp_directory_path() / ("loader-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ProgramFile() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // Returns an ELF file of this machine, with an interpreter unless that is "".
  static std::string elf(const std::string& interpreter, ElfW(Ehdr) header = own_header()) {
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(ElfW(Phdr));
    header.e_phnum = interpreter.empty() ? 1 : 2;
    std::array<ElfW(Phdr), 2> parts{};
    parts[0].p_type = PT_LOAD;
    parts[1].p_type = PT_INTERP;
    parts[1].p_offset = sizeof header + sizeof parts;
    parts[1].p_filesz = interpreter.size() + 1;
    std::string text(reinterpret_cast<const char*>(&header), sizeof header);
    text.append(reinterpret_cast<const char*>(parts.data()), sizeof parts);
    return text.append(interpreter).append(1, '\0');
  }
  static std::string why(const std::string& path) { return ProgramLoader(path.c_str()).why_not(); }
  // Returns the banner of a dynamic linker, after the given number of bytes.
  std::string linker(const std::string& name, const std::string& version, std::size_t before) const {
    return write(name, std::string(before, 'x') + "ld.so (GNU libc) stable release version 2." + version + ".\n" +
                           std::string(9000, 'y'));
  }

  fs::path folder_;
};

TEST_F(ProgramFile, ThisProgram_CanLoad) {
  EXPECT_EQ(why("/proc/self/exe"), "");
  EXPECT_TRUE(ProgramLoader("/proc/self/exe").can_load());
}

TEST_F(ProgramFile, AnotherCLibrary_IsNamed) {
  const auto musl = write("ld-musl.so.1", "musl libc");
  EXPECT_EQ(why(write("program", elf(musl))), "it uses another C library (" + musl + ")");
}

TEST_F(ProgramFile, Glibc_CanLoadFromThisBuildsVersionOn) {
  const auto minor = [](int more) { return std::to_string(__GLIBC_MINOR__ + more); };
  for (const std::size_t before : {0, 4050, 4070, 4080, 4090, 4096, 8180}) {
    const auto older = linker("older", minor(-1), before);
    EXPECT_EQ(why(write("program", elf(older))), "it uses an older C library (" + older + ")") << before;
    EXPECT_EQ(why(write("program", elf(linker("same", minor(0), before)))), "") << before;
    EXPECT_EQ(why(write("program", elf(linker("newer", minor(1), before)))), "") << before;
  }
}

TEST_F(ProgramFile, ThisLinker_ByAnotherName_CanLoad) {
  std::string own;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        if (info->dlpi_addr == getauxval(AT_BASE)) *static_cast<std::string*>(to) = info->dlpi_name;
        return 0;
      },
      &own);
  ASSERT_FALSE(own.empty());
  const auto link = (folder_ / "link").string();
  fs::create_symlink(own, link);
  EXPECT_EQ(why(write("program", elf(link))), "");
}

TEST_F(ProgramFile, AnotherMachineOrWordSize_IsRefused) {
  auto header = own_header();
  header.e_machine = EM_S390;
  EXPECT_EQ(why(write("machine", elf("/lib/ld.so", header))), "it is built for another processor architecture");
  header = own_header();
  header.e_ident[EI_CLASS] = header.e_ident[EI_CLASS] == ELFCLASS64 ? ELFCLASS32 : ELFCLASS64;
  EXPECT_EQ(why(write("size", elf("/lib/ld.so", header))), "it is built for another word size");
}

TEST_F(ProgramFile, StaticProgram_CanLoad) { EXPECT_EQ(why(write("static", elf(""))), ""); }

TEST_F(ProgramFile, DynamicLinkerAsProgram_DecidesItself) {
  auto header = own_header();
  header.e_type = ET_DYN;
  const auto called = write("ld-musl-x86_64.so.1", elf("", header));
  EXPECT_EQ(why(called), "it uses another C library (" + called + ")");
}

TEST_F(ProgramFile, Script_IsWhatItsInterpreterIs) {
  const auto musl = write("musl", elf(write("ld-musl.so.1", "musl libc")));
  const auto script = write("script", "#! " + musl + " -x\necho\n");
  EXPECT_NE(why(script).find("another C library"), std::string::npos);
  EXPECT_NE(why(write("second", "#!" + script + "\n")).find("another C library"), std::string::npos);
  EXPECT_EQ(why(write("usual", "#!/proc/self/exe\n")), "");
  EXPECT_EQ(why(write("plain", "echo\n")), "");
  EXPECT_EQ(why(write("itself", "#!" + (folder_ / "itself").string() + "\n")), "");
}

TEST_F(ProgramFile, WhatCannotBeRead_CanLoadAndKeepsErrno) {
  auto torn = own_header();
  torn.e_phoff = 1 << 30;
  const auto path = write("torn", std::string(reinterpret_cast<const char*>(&torn), sizeof torn));
  errno = ERANGE;
  for (const auto& file :
       {path, write("short", "\177EL"), write("empty", ""), folder_.string(), (folder_ / "none").string()})
    EXPECT_EQ(why(file), "") << file;
  EXPECT_EQ(errno, ERANGE);
}

// A blocking open would wait for a writer.
TEST_F(ProgramFile, Fifo_CanLoadAtOnce) {
  const auto fifo = (folder_ / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), S_IRWXU), 0);
  alarm(60);  // ends the test if it blocks
  EXPECT_EQ(why(fifo), "");
  EXPECT_EQ(why(write("script", "#!" + fifo + "\n")), "");
  EXPECT_EQ(why(write("program", elf(fifo))), "it uses another C library (" + fifo + ")");
  alarm(0);
}

TEST_F(ProgramFile, Descriptor_IsReadAndStaysWhereItIs) {
  const auto musl = write("musl", elf(write("ld-musl.so.1", "musl libc")));
  for (const int flags : {O_RDONLY, O_PATH}) {
    const int file = open(musl.c_str(), flags);
    ASSERT_GE(file, 0);
    EXPECT_FALSE(ProgramLoader(file).can_load()) << flags;
    EXPECT_EQ(flags == O_PATH ? 0 : lseek(file, 0, SEEK_CUR), 0);
    close(file);
  }
  EXPECT_TRUE(ProgramLoader(-1).can_load());
}

TEST_F(ProgramFile, Search_TakesTheFirstThatCanRun) {
  fs::create_directories(folder_ / "a" / "tool");  // a folder is not a program
  fs::create_directories(folder_ / "b");
  fs::create_directories(folder_ / "c");
  write("c/tool", "echo\n");
  std::ofstream(folder_ / "b" / "tool") << "echo\n";  // not executable
  const auto search = (folder_ / "a").string() + ":" + (folder_ / "b").string() + ":" + (folder_ / "c").string();
  std::array<char, 4096> path{};
  ASSERT_TRUE(find_program("tool", search.c_str(), path.data(), path.size()));
  EXPECT_EQ(path.data(), (folder_ / "c" / "tool").string());
  EXPECT_FALSE(find_program("none", search.c_str(), path.data(), path.size()));
  EXPECT_FALSE(find_program("tool", search.c_str(), path.data(), 8));
  EXPECT_FALSE(find_program("", search.c_str(), path.data(), path.size()));
  ASSERT_TRUE(find_program("sh", nullptr, path.data(), path.size()));
  EXPECT_STREQ(path.data(), "/bin/sh");
  const auto direct = (folder_ / "c" / "tool").string();
  ASSERT_TRUE(find_program(direct.c_str(), "", path.data(), path.size()));
  EXPECT_EQ(path.data(), direct);
}

}  // namespace
}  // namespace terrace
