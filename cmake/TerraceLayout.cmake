# SPDX-License-Identifier: Apache-2.0
# Defines the layout of an installation. The launcher, bin/terrace, finds the other parts relative to itself, in
# ../lib/terrace and ../share/terrace. A wheel contains the same tree, which is unpacked into the environment.
if(SKBUILD)
  set(TERRACE_ROOT_PREFIX "${SKBUILD_DATA_DIR}/")
  set(TERRACE_BINDIR "${SKBUILD_SCRIPTS_DIR}")
  set(TERRACE_PYTHONDIR "${SKBUILD_PLATLIB_DIR}/terrace")
else()
  set(TERRACE_ROOT_PREFIX "")
  set(TERRACE_BINDIR bin)
  if(TERRACE_PYTHON)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
    set(TERRACE_PYTHONDIR "lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/site-packages/terrace"
      CACHE STRING "Folder of the Python package, relative to the prefix")
  endif()
endif()
set(TERRACE_LIBDIR "${TERRACE_ROOT_PREFIX}lib/terrace")
set(TERRACE_DATADIR "${TERRACE_ROOT_PREFIX}share/terrace")
set(TERRACE_INCLUDEDIR "${TERRACE_ROOT_PREFIX}include")
set(TERRACE_CONFIGDIR "${TERRACE_ROOT_PREFIX}lib/cmake/Terrace")
set(TERRACE_ZSHDIR "${TERRACE_ROOT_PREFIX}share/zsh/site-functions"
  CACHE STRING "Folder in which zsh searches completions, relative to the prefix")
set(TERRACE_PKGCONFIGDIR "${TERRACE_ROOT_PREFIX}lib/pkgconfig")
