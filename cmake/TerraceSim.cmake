# SPDX-License-Identifier: Apache-2.0
# Part of TerraceConfig.cmake, installed with the component sim.
set(Terrace_CC "${PACKAGE_PREFIX_DIR}/bin/terrace-cc")
set(Terrace_CXX "${PACKAGE_PREFIX_DIR}/bin/terrace-c++")
set(Terrace_FC "${PACKAGE_PREFIX_DIR}/bin/terrace-fc")
set(Terrace_MACHINES "${PACKAGE_PREFIX_DIR}/share/terrace/machines")
if(EXISTS "${Terrace_CC}" AND EXISTS "${Terrace_MACHINES}")
  set(Terrace_sim_FOUND TRUE)
endif()
