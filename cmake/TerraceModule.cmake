# SPDX-License-Identifier: Apache-2.0
# Defines terrace_module(NAME FOLDERS ... [SOURCES ...] DEPENDS ...): a module, or a part of one, as a static
# library terrace_NAME (alias Terrace::NAME). All modules share one set of flags: code that enters a user's process
# must be position-independent and hide its symbols.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Use ccache if it is installed, unless the user has chosen a compiler launcher.
find_program(TERRACE_CCACHE ccache)
mark_as_advanced(TERRACE_CCACHE)
if(TERRACE_CCACHE AND PROJECT_IS_TOP_LEVEL)
  foreach(language C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${TERRACE_CCACHE})
    endif()
  endforeach()
endif()

add_library(terrace_flags INTERFACE)
target_compile_options(terrace_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion)
option(TERRACE_WERROR "Treat compiler warnings as errors" OFF)
if(TERRACE_WERROR)
  target_compile_options(terrace_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Suppresses false positives in its own std::string (gcc bug 105651).
  target_compile_options(terrace_flags INTERFACE -Wno-restrict)
endif()
target_include_directories(terrace_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/foundation> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/tiering>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
if(TERRACE_SANITIZE)
  add_compile_options(-fsanitize=${TERRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TERRACE_SANITIZE})
endif()
if(TERRACE_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

# Precompiled standard headers and unity builds reduce the processor time of a build to 60 %. Checking builds
# (sanitizers, coverage, lint) use neither, so that missing includes are found.
include(CMakeDependentOption)
cmake_dependent_option(TERRACE_PRECOMPILE "Precompile standard headers" ON
  "NOT TERRACE_SANITIZE;NOT TERRACE_COVERAGE;CMAKE_CXX_COMPILER_ID STREQUAL GNU" OFF)
cmake_dependent_option(TERRACE_UNITY "Compile several files of a module at once" ON
  "NOT TERRACE_SANITIZE;NOT TERRACE_COVERAGE" OFF)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
if(TERRACE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # In a unity build gcc mistakes source files for headers.
  target_compile_options(terrace_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
set(TERRACE_STANDARD_HEADERS <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <deque> <functional> <map>
  <memory> <mutex> <optional> <set> <span> <stdexcept> <string> <string_view> <unordered_map> <utility> <vector>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "int main() { return 0; }\n")

# Defines terrace_precompile(TARGET NAME [HEADERS ...] [OPTIONS ...] [LIBRARIES ...]): the target uses the
# precompiled headers NAME, which the first call creates from the standard ones and HEADERS, with OPTIONS. The
# target must be compiled with the same options.
function(terrace_precompile target name)
  cmake_parse_arguments(PRECOMPILE "" "" "HEADERS;OPTIONS;LIBRARIES" ${ARGN})
  if(NOT TERRACE_PRECOMPILE)
    return()
  endif()
  # Executables and libraries have headers of their own: -fPIE and -fPIC differ.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set(holder terrace_precompiled_${name}_executable)
  else()
    set(holder terrace_precompiled_${name})
  endif()
  if(NOT TARGET ${holder})
    if(type STREQUAL EXECUTABLE)
      add_executable(${holder} ${PROJECT_BINARY_DIR}/precompiled.cpp)
    else()
      add_library(${holder} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    endif()
    target_link_libraries(${holder} PRIVATE terrace_flags ${PRECOMPILE_LIBRARIES})
    target_compile_options(${holder} PRIVATE ${PRECOMPILE_OPTIONS})
    target_precompile_headers(${holder} PRIVATE ${PRECOMPILE_HEADERS} ${TERRACE_STANDARD_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()

# Options of code that stays outside of user processes and is bound by I/O: -O1 makes builds faster.
set(TERRACE_OUTSIDE "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(TERRACE_OUTSIDE -O1)
endif()

# All .cpp files of the folders (relative to the calling list file) belong to the module: a new file needs no line
# here.
function(terrace_module name)
  cmake_parse_arguments(MODULE "" "" "FOLDERS;SOURCES;DEPENDS;OPTIONS" ${ARGN})
  foreach(folder IN LISTS MODULE_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND MODULE_SOURCES ${found})
  endforeach()
  add_library(terrace_${name} STATIC ${MODULE_SOURCES})
  add_library(Terrace::${name} ALIAS terrace_${name})
  target_link_libraries(terrace_${name} PUBLIC terrace_flags)
  foreach(dependency IN LISTS MODULE_DEPENDS)
    target_link_libraries(terrace_${name} PUBLIC ${dependency})
  endforeach()
  target_compile_options(terrace_${name} PRIVATE ${MODULE_OPTIONS})
  string(MAKE_C_IDENTIFIER "module${MODULE_OPTIONS}" headers)
  terrace_precompile(terrace_${name} ${headers} OPTIONS ${MODULE_OPTIONS})
endfunction()
