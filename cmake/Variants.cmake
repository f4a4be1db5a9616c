# The table of a folder's variants: each file NAME.cpp of the folders defines `const TYPE& NAME_SUFFIX()`; the table
# is `const std::vector<const TYPE*>& TABLE()`, in the order of the folders, each by name. No list is kept by hand: a
# new file is a new variant.
#
#   terrace_variants(MODULE HEADER strategy/variant.hpp NAMESPACE terrace::strategy TYPE Variant SUFFIX variant
#     TABLE variants FOLDERS planners static)
function(terrace_variants module)
  cmake_parse_arguments(TABLE "" "HEADER;NAMESPACE;TYPE;SUFFIX;TABLE" "FOLDERS" ${ARGN})
  set(declarations "")
  set(entries "")
  foreach(folder IN LISTS TABLE_FOLDERS)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(SORT files)
    # By themselves: a variant's names need not differ from another's.
    set_source_files_properties(${files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    foreach(file IN LISTS files)
      get_filename_component(name ${file} NAME_WE)
      string(APPEND declarations "const ${TABLE_TYPE}& ${name}_${TABLE_SUFFIX}();\n")
      string(APPEND entries "      &${name}_${TABLE_SUFFIX}(),\n")
    endforeach()
  endforeach()
  string(REPLACE ";" ", " folders "${TABLE_FOLDERS}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${TABLE_TABLE}.cpp @ONLY CONTENT
"// Made by CMake of the files in ${folders} (cmake/Variants.cmake).
#include <vector>

#include \"${TABLE_HEADER}\"

namespace ${TABLE_NAMESPACE} {

${declarations}
const std::vector<const ${TABLE_TYPE}*>& ${TABLE_TABLE}() {
  static const std::vector<const ${TABLE_TYPE}*> all{
${entries}  };
  return all;
}

}  // namespace ${TABLE_NAMESPACE}
")
  target_sources(terrace_${module} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${TABLE_TABLE}.cpp)
endfunction()
