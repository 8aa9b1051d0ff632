# libmemarray: the compiled core, independent of Python.
set(core_layers base driver memory launch strided state view array kernel interop)
set(core_sources "")
foreach(layer IN LISTS core_layers)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp"
       "${PROJECT_SOURCE_DIR}/src/${layer}/*/*.cpp")
  list(APPEND core_sources ${sources})
  if(MEMARRAY_HAS_CUDA)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.cu")
    list(APPEND core_sources ${sources})
  endif()
endforeach()

if(MEMARRAY_HAS_CUDA)
  set(MEMARRAY_FLAVOUR cuda)
  set(MEMARRAY_CUDA_DESCRIPTION "${CMAKE_CUDA_COMPILER_VERSION}")
  string(REPLACE ";" " " MEMARRAY_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
else()
  set(MEMARRAY_FLAVOUR host)
  set(MEMARRAY_CUDA_DESCRIPTION "")
  set(MEMARRAY_ARCHITECTURES "")
endif()
configure_file("${PROJECT_SOURCE_DIR}/src/base/build_config.hpp.in"
               "${PROJECT_BINARY_DIR}/generated/build_config.hpp" @ONLY)

add_library(memarray SHARED ${core_sources})
add_library(memarray::memarray ALIAS memarray)
target_compile_features(memarray PUBLIC cxx_std_20)
# CCCL comes by plain -I: nvcc's own CCCL would precede a system folder.
target_include_directories(
  memarray
  PUBLIC "${PROJECT_SOURCE_DIR}/include" "${MEMARRAY_DLPACK_DIR}" "${MEMARRAY_CCCL_DIR}"
  PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated")
target_compile_definitions(
  memarray PUBLIC THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP MEMARRAY_HAS_CUDA=${MEMARRAY_HAS_CUDA}
           PRIVATE $<$<NOT:$<BOOL:${MEMARRAY_SIMD_TARGETS}>>:MEMARRAY_BASELINE_ONLY>)
target_compile_options(
  memarray
  PUBLIC $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda>
  PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
# Modules of this project have the project's flags, so the headers need not refuse another layout of containers.
target_compile_definitions(memarray INTERFACE MEMARRAY_ANY_STANDARD_LIBRARY)
target_link_libraries(memarray PRIVATE memarray_flags memarray_signs Threads::Threads ${CMAKE_DL_LIBS})
# nodelete: its threads never end, and deleters of exports may be called at any time. -Bsymbolic-functions: calls
# between its own functions bypass the symbol table.
target_link_options(memarray PRIVATE LINKER:-z,nodelete LINKER:-Bsymbolic-functions)
if(NOT MEMARRAY_SANITIZE)
  target_link_options(memarray PRIVATE LINKER:--no-undefined)
endif()
# Compiles eight sources of the target in one file, except those whose paths the regular expression finds.
function(memarray_join_sources target apart)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "${apart}")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()
if(MEMARRAY_JOIN_SOURCES)
  # Kernels, and large sources whose loops are compiled for several instruction sets, stay apart.
  memarray_join_sources(memarray "[.]cu$|/src/strided/")
endif()
set_target_properties(memarray PROPERTIES MEMARRAY_HAS_CUDA ${MEMARRAY_HAS_CUDA} LIBRARY_OUTPUT_DIRECTORY "${MEMARRAY_PACKAGE_DIR}/lib")
