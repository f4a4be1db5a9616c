// Fuzzes tables of MPI objects: any bytes either make a table, whose formulas can be evaluated and which comes
// back from its own bytes, or are refused with an Error of one line that names the file; and any bytes as the
// launcher's make a table, or are refused. tests/fuzz/CMakeLists.txt says how.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "strategy/files/mpi_objects_file.hpp"

namespace {

using terrace::strategy::MpiClassifier;
using terrace::strategy::MpiMapping;
using terrace::strategy::MpiObjectTable;

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

std::string bytes_of(const MpiObjectTable& table) {
  terrace::BlobWriter out;
  table.to_blob(out);
  return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

// Classifies some mappings: the object must be one of the table.
void classify(const MpiObjectTable& table) {
  const MpiClassifier classifier({table});
  const auto& objects = classifier.tables().front().objects;
  for (const auto& object : objects) {
    MpiMapping mapping{.name = object.mappings.empty() ? std::string_view() : object.mappings.front(),
                       .size = 4096,
                       .function = "MPI_Init"};
    for (const std::uint32_t ranks : {1U, 4U}) {
      mapping.request.ranks = ranks;
      const auto size = object.evaluate(object.size, mapping.request);
      if (size) mapping.size = (*size + 4095) / 4096 * 4096;
      const auto* const found = classifier.classify(mapping);
      require(!found || (found >= objects.data() && found < objects.data() + objects.size()),
              "an object of no table", object.name);
    }
  }
}

void check(const MpiObjectTable& table) {
  const auto bytes = bytes_of(table);
  terrace::BlobReader in({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  require(bytes_of(MpiObjectTable::from_blob(in)) == bytes, "a table changes when its bytes are read back", "");
  classify(table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(terrace::strategy::parse_mpi_objects(text, "fuzz.toml"));
  } catch (const terrace::Error& error) {
    const std::string complaint = error.what();
    require(error.code() == terrace::Code::invalid, "a complaint with another code", complaint);
    require(complaint.starts_with("fuzz.toml:") && complaint.find('\n') == std::string::npos,
            "a complaint that is not one line with its file", complaint);
  }
  try {
    terrace::BlobReader in({reinterpret_cast<const std::byte*>(data), size});
    classify(MpiObjectTable::from_blob(in));
  } catch (const terrace::Error& error) {
    require(error.code() == terrace::Code::corrupt, "a complaint with another code", error.what());
  }
  return 0;
}
