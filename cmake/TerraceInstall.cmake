# SPDX-License-Identifier: Apache-2.0
# Installs Terrace, by component:
#   core    files to link with and to run: libterrace.so, the headers, the launcher with its man pages and completions,
#           the tables of MPI objects, the package files
#   sim     tools for virtual time: the compiler wrappers with their stand-ins, the machine files
#   pim     allocation for processing in memory (PIM): libbmem.so and its headers
#   stencil stencil programs on structured meshes: libterrace_stencil.so and its headers
#   stencil_hdf5  their files and checkpoints, which need HDF5: installed only if named
#   python  the analysis subcommands
# Core installs without the others. A module with more than a target adds its own install() rules, with the
# destinations of TerraceLayout.cmake.
include(CMakePackageConfigHelpers)

if(TARGET terrace)
  install(TARGETS terrace terrace_unfollowed LIBRARY DESTINATION ${TERRACE_LIBDIR} COMPONENT core)
endif()
if(TARGET terrace_cli)
  install(TARGETS terrace_cli RUNTIME DESTINATION ${TERRACE_BINDIR} COMPONENT core)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/terrace DESTINATION ${TERRACE_INCLUDEDIR} COMPONENT core
  PATTERN "bmem.*" EXCLUDE PATTERN "stencil*" EXCLUDE)

if(TARGET bmem)
  install(TARGETS bmem LIBRARY DESTINATION ${TERRACE_LIBDIR} COMPONENT pim OPTIONAL)
  install(FILES ${PROJECT_SOURCE_DIR}/include/terrace/bmem.h ${PROJECT_SOURCE_DIR}/include/terrace/bmem.hpp
    DESTINATION ${TERRACE_INCLUDEDIR}/terrace COMPONENT pim)
endif()

if(TARGET terrace_stencil_library)
  install(TARGETS terrace_stencil_library LIBRARY DESTINATION ${TERRACE_LIBDIR} COMPONENT stencil OPTIONAL)
  install(FILES ${PROJECT_SOURCE_DIR}/include/terrace/stencil.hpp DESTINATION ${TERRACE_INCLUDEDIR}/terrace
    COMPONENT stencil)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/terrace/stencil DESTINATION ${TERRACE_INCLUDEDIR}/terrace
    COMPONENT stencil PATTERN "hdf5.hpp" EXCLUDE)
  install(TARGETS terrace_stencil_hdf5_library LIBRARY DESTINATION ${TERRACE_LIBDIR} COMPONENT stencil_hdf5
    OPTIONAL EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/include/terrace/stencil/hdf5.hpp
    DESTINATION ${TERRACE_INCLUDEDIR}/terrace/stencil COMPONENT stencil_hdf5 EXCLUDE_FROM_ALL)
else()
  # `make demo` configures without it.
  foreach(component stencil stencil_hdf5)
    install(CODE "message(FATAL_ERROR \"this build has no stencil library; \`make build\` adds it\")"
      COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/machines DESTINATION ${TERRACE_DATADIR} COMPONENT sim
  FILES_MATCHING PATTERN "*.toml")

# Tables of the memory that MPI libraries allocate for themselves.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/mpi_objects DESTINATION ${TERRACE_DATADIR} COMPONENT core
  FILES_MATCHING PATTERN "*.toml")

# Man pages and completions, which scripts/command_line_page.py generates.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/man ${PROJECT_SOURCE_DIR}/share/bash-completion
  ${PROJECT_SOURCE_DIR}/share/fish DESTINATION ${TERRACE_ROOT_PREFIX}share COMPONENT core)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/zsh/site-functions/ DESTINATION ${TERRACE_ZSHDIR} COMPONENT core)

if(TERRACE_PYTHON AND TARGET terrace_core_module)
  install(TARGETS terrace_core_module terrace_arrays_module LIBRARY DESTINATION ${TERRACE_PYTHONDIR} COMPONENT python)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/terrace/ DESTINATION ${TERRACE_PYTHONDIR} COMPONENT python
    PATTERN "__pycache__" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE PATTERN "*.cpp" EXCLUDE PATTERN "*.hpp" EXCLUDE)
  if(NOT SKBUILD)
    # Remove modules of an older installation that no longer exist: they could be imported.
    install(CODE "
      set(source \"${PROJECT_SOURCE_DIR}/python/terrace\")
      set(target \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${TERRACE_PYTHONDIR}\")
      file(GLOB_RECURSE installed RELATIVE \"\${target}\" \"\${target}/*.py\")
      foreach(module IN LISTS installed)
        if(NOT EXISTS \"\${source}/\${module}\")
          file(REMOVE \"\${target}/\${module}\")
        endif()
      endforeach()" COMPONENT python)
  endif()
endif()

# --- package files ----------------------------------------------------------------------------------------------
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TerraceConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/TerraceConfig.cmake INSTALL_DESTINATION lib/cmake/Terrace)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/TerraceConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/terrace.pc.in ${PROJECT_BINARY_DIR}/package/terrace.pc @ONLY)
foreach(package terrace-bmem terrace-stencil terrace-stencil-hdf5)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
endforeach()

# The options that the compiler wrappers add (src/tiering/cli/wrapper/wrapper_command.cpp), for builds that cannot
# use them. With clang -fsanitize goes to the compiler proper: its driver would link its own run-time library. (The
# hooks of basic blocks would need a second -Xclang, which pkg-config removes as a duplicate.)
set(hooks_copies "-fno-builtin-memcpy -fno-builtin-memset -fno-builtin-memmove")
foreach(hooks_compiler gcc clang)
  if(hooks_compiler STREQUAL gcc)
    set(hooks_package terrace-hooks)
    set(hooks_variables "# The options that gfortran accepts.\nfflags=-fsanitize=thread -fsanitize-coverage=trace-pc -fno-plt -fno-ipa-ra -B\${libdir}/stand-ins\n")
    set(hooks_cflags "-fsanitize=thread -U__SANITIZE_THREAD__ -Wno-tsan -fsanitize-coverage=trace-pc -fno-plt -fno-ipa-ra ${hooks_copies} -B\${libdir}/stand-ins")
  else()
    set(hooks_package terrace-hooks-clang)
    set(hooks_variables "")
    set(hooks_cflags "-Xclang -fsanitize=thread -fno-vectorize -fno-slp-vectorize -fno-plt ${hooks_copies}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/terrace-hooks.pc.in ${PROJECT_BINARY_DIR}/package/${hooks_package}.pc
    @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${hooks_package}.pc DESTINATION ${TERRACE_PKGCONFIGDIR} COMPONENT sim)
endforeach()
foreach(component core pim stencil)
  install(FILES ${PROJECT_BINARY_DIR}/package/TerraceConfig.cmake
    ${PROJECT_BINARY_DIR}/package/TerraceConfigVersion.cmake DESTINATION ${TERRACE_CONFIGDIR} COMPONENT ${component})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/package/terrace.pc DESTINATION ${TERRACE_PKGCONFIGDIR} COMPONENT core)
if(TARGET bmem)
  install(FILES ${PROJECT_BINARY_DIR}/package/terrace-bmem.pc DESTINATION ${TERRACE_PKGCONFIGDIR} COMPONENT pim)
endif()
if(TARGET terrace_stencil_library)
  install(FILES ${PROJECT_BINARY_DIR}/package/terrace-stencil.pc DESTINATION ${TERRACE_PKGCONFIGDIR} COMPONENT stencil)
  install(FILES ${PROJECT_BINARY_DIR}/package/terrace-stencil-hdf5.pc DESTINATION ${TERRACE_PKGCONFIGDIR}
    COMPONENT stencil_hdf5 EXCLUDE_FROM_ALL)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/cmake/TerraceSim.cmake DESTINATION ${TERRACE_CONFIGDIR} COMPONENT sim)
