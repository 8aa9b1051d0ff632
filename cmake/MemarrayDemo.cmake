# The demo is a downstream project: built against a staged install, like a user's project, and shipped in the wheel.
include(ExternalProject)

set(demo_source "${PROJECT_SOURCE_DIR}/examples/lennard_jones")
set(stage_dir "${PROJECT_BINARY_DIR}/stage")
set(demo_dir "${PROJECT_BINARY_DIR}/demo-install")

add_custom_target(
  memarray_stage
  COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${stage_dir}" --component devel > stage.log
  WORKING_DIRECTORY "${PROJECT_BINARY_DIR}"
  COMMENT "Staging memarray for the demo"
  VERBATIM)
add_dependencies(memarray_stage memarray)

# The demo is inside memarray's own package, one folder below its lib.
set(demo_arguments
    -DCMAKE_BUILD_TYPE:STRING=${CMAKE_BUILD_TYPE}
    -DCMAKE_INSTALL_PREFIX:PATH=${demo_dir}
    -DCMAKE_CXX_COMPILER:FILEPATH=${CMAKE_CXX_COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER:STRING=${CMAKE_CXX_COMPILER_LAUNCHER}
    -DPython_EXECUTABLE:FILEPATH=${Python_EXECUTABLE}
    -Dmemarray_DIR:PATH=${stage_dir}/memarray/lib/cmake/memarray
    -DMEMARRAY_RPATH:STRING=$ORIGIN/../lib)
if(MEMARRAY_HAS_CUDA)
  string(REPLACE ";" "|" demo_architectures "${CMAKE_CUDA_ARCHITECTURES}")
  list(APPEND demo_arguments -DCMAKE_CUDA_COMPILER:FILEPATH=${CMAKE_CUDA_COMPILER}
       -DCMAKE_CUDA_ARCHITECTURES:STRING=${demo_architectures})
endif()
if(MEMARRAY_SANITIZE)
  list(APPEND demo_arguments "-DCMAKE_CXX_FLAGS:STRING=-fsanitize=${MEMARRAY_SANITIZE} -g"
       "-DCMAKE_SHARED_LINKER_FLAGS:STRING=-fsanitize=${MEMARRAY_SANITIZE}"
       "-DCMAKE_MODULE_LINKER_FLAGS:STRING=-fsanitize=${MEMARRAY_SANITIZE}")
endif()

ExternalProject_Add(
  memarray_demo
  SOURCE_DIR "${demo_source}"
  BINARY_DIR "${PROJECT_BINARY_DIR}/demo"
  DEPENDS memarray_stage
  LIST_SEPARATOR |
  CMAKE_ARGS ${demo_arguments}
  BUILD_ALWAYS ON
  USES_TERMINAL_BUILD ON)
ExternalProject_Add_Step(
  memarray_demo link
  COMMAND "${CMAKE_COMMAND}" -E copy_directory "${demo_dir}/memarray" "${MEMARRAY_PACKAGE_DIR}"
  COMMENT "Copying the demo's module into the build tree's package"
  DEPENDEES install
  ALWAYS ON)
install(DIRECTORY "${demo_dir}/memarray/" DESTINATION ${MEMARRAY_INSTALL_DIR} COMPONENT demo)
