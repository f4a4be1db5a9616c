// Tests [[file]] in machine files: round trips through text and bytes, and one error line for each violation of
// the schema.
#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "example.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {
namespace {

MachineParts with_a_file() {
  auto parts = example_parts();
  parts.files = {{"disk", 1, {6.5e9}, {3.5e9}, {80e-6}, 64}};
  return parts;
}

bool same(const BackingFile& one, const BackingFile& other) {
  return one.name == other.name && one.beside == other.beside && one.read.value == other.read.value &&
         one.write.value == other.write.value && one.latency.value == other.latency.value &&
         one.requests == other.requests;
}

TEST(FileTable, TextAndBlob_RoundTrip) {
  const Machine machine(with_a_file());
  const auto text = format_machine_file(machine);
  const auto beside = machine.place(1).name;
  EXPECT_NE(text.find("\n[[file]]\nname = \"disk\"\nbeside = \"" + beside +
                      "\"\nread = \"6.5GB/s\"\nwrite = \"3.5GB/s\"\nlatency = \"80us\"\nrequests = 64\n"),
            std::string::npos)
      << text;
  const auto again = parse_machine(text, "again");
  ASSERT_EQ(again.parts().files.size(), 1u);
  EXPECT_TRUE(same(again.parts().files[0], machine.parts().files[0]));
  EXPECT_EQ(blob_of(again), blob_of(machine));
  const auto bytes = blob_of(machine);
  BlobReader in(bytes);
  EXPECT_TRUE(same(Machine::from_blob(in).parts().files.at(0), machine.parts().files[0]));
}

TEST(FileTable, FileBeside_FindsByMemory) {
  const Machine machine(with_a_file());
  ASSERT_NE(machine.find_backing_file(1), nullptr);
  EXPECT_EQ(machine.find_backing_file(1)->name, "disk");
  EXPECT_EQ(machine.find_backing_file(0), nullptr);
}

// Iteration over places does not include backing files.
TEST(FileTable, BackingFile_IsNotAPlace) {
  const Machine with(with_a_file());
  const Machine without(example_parts());
  EXPECT_EQ(with.places().size(), without.places().size());
  EXPECT_EQ(with.kinds(), without.kinds());
  EXPECT_EQ(with.find_place("disk"), std::nullopt);
  EXPECT_THROW(parse_budget(with, "disk=1GiB"), Error);
  for (DomainId d = 0; d < with.domains().size(); ++d) {
    EXPECT_EQ(with.fastest_first(d), without.fastest_first(d));
    EXPECT_EQ(with.home(d), without.home(d));
  }
}

TEST(FileTable, InvalidKeys_AreRefusedInOneLine) {
  const auto text = format_machine_file(Machine(with_a_file()));
  const auto beside = Machine(with_a_file()).place(1).name;
  const std::string second = "[[file]]\nname = \"other\"\nbeside = \"" + beside +
                             "\"\nread = \"1GB/s\"\nwrite = \"1GB/s\"\nlatency = \"1ms\"\nrequests = 1\n";
  struct Case {
    std::string old, now, complaint;
  };
  for (const auto& [old, now, complaint] : {
           Case{"read = \"6.5GB/s\"\nwrite = \"3.5GB/s\"\nlatency", "write = \"3.5GB/s\"\nlatency", "file.read"},
           Case{"read = \"6.5GB/s\"\nwrite = \"3.5GB/s\"\nlatency",
                "read = \"0GB/s\"\nwrite = \"3.5GB/s\"\nlatency", "file.read"},
           Case{"latency = \"80us\"\nrequests", "latency = \"fast\"\nrequests", "file.latency"},
           Case{"requests = 64", "requests = 0", "file.requests"},
           Case{"requests = 64", "requests = 65537", "file.requests"},
           Case{"requests = 64", "requests = 64\ncapacity = \"1TB\"", "file.capacity"},
           Case{"name = \"disk\"", "name = \"" + beside + "\"", "a place is called"},
           Case{"name = \"disk\"\nbeside = \"" + beside, "name = \"disk\"\nbeside = \"nowhere", "file.beside"},
           Case{"requests = 64\n", "requests = 64\n" + second, "already; keep one"},
       }) {
    auto broken = text;
    const auto at = broken.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    broken.replace(at, old.size(), now);
    try {
      parse_machine(broken, "x.toml");
      ADD_FAILURE() << now;
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_EQ(said.find("x.toml:"), 0u) << said;
      EXPECT_NE(said.find(complaint), std::string::npos) << said;
      EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
  }
}

TEST(FileTable, ContradictingParts_AreRefused) {
  const auto refuses = [](auto change) {
    auto parts = with_a_file();
    change(parts);
    EXPECT_THROW(Machine{parts}, Error);
  };
  refuses([](MachineParts& parts) { parts.files[0].beside = 99; });
  refuses([](MachineParts& parts) { parts.files[0].name = parts.places[0].name; });
  refuses([](MachineParts& parts) { parts.files[0].name = ""; });
  refuses([](MachineParts& parts) { parts.files[0].write = {}; });
  refuses([](MachineParts& parts) { parts.files[0].latency = {-1}; });
  refuses([](MachineParts& parts) { parts.files[0].requests = 0; });
  refuses([](MachineParts& parts) {
    parts.files.push_back(parts.files[0]);
    parts.files.back().name = "other";
  });
}

}  // namespace
}  // namespace terrace::machine
