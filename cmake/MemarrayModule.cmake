# The extension module memarray._core, and the importable package around it in the build tree.
file(GLOB_RECURSE binding_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/bindings/*.cpp")
if(binding_sources)
  pybind11_add_module(_core MODULE NO_EXTRAS ${binding_sources})
  target_link_libraries(_core PRIVATE memarray memarray_flags memarray_signs)
  if(MEMARRAY_SANITIZE OR MEMARRAY_JOIN_SOURCES)
    # No loop over elements is here. Without optimisation pybind11's templates compile in two thirds of the time.
    target_compile_options(_core PRIVATE -O0)
  endif()
  if(MEMARRAY_JOIN_SOURCES)
    target_precompile_headers(_core PRIVATE <pybind11/pybind11.h> <memarray/memarray.hpp>)
    # The names in the anonymous namespaces of these sources are something else in other sources.
    memarray_join_sources(_core "/(instance_type|lease_type|view_type|view_properties|object_bridge)[.]cpp$")
  endif()
  target_include_directories(_core PRIVATE "${PROJECT_SOURCE_DIR}/python/bindings" "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${MEMARRAY_PACKAGE_DIR}" INSTALL_RPATH "$ORIGIN/lib")
endif()

# Links single files, so that an edited .py needs no build and a built module does not end up among the sources.
file(GLOB_RECURSE package_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/memarray"
     "${PROJECT_SOURCE_DIR}/python/memarray/*")
list(FILTER package_files EXCLUDE REGEX "__pycache__|\\.so$")
foreach(file IN LISTS package_files)
  get_filename_component(folder "${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${MEMARRAY_PACKAGE_DIR}/${folder}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/memarray/${file}" "${MEMARRAY_PACKAGE_DIR}/${file}" SYMBOLIC)
endforeach()
file(MAKE_DIRECTORY "${MEMARRAY_PACKAGE_DIR}/include")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/memarray" "${MEMARRAY_PACKAGE_DIR}/include/memarray" SYMBOLIC)
file(CREATE_LINK "${MEMARRAY_DLPACK_DIR}/dlpack" "${MEMARRAY_PACKAGE_DIR}/include/dlpack" SYMBOLIC)
file(CREATE_LINK "${MEMARRAY_BUNDLED_CCCL_DIR}" "${MEMARRAY_PACKAGE_DIR}/include/cccl" SYMBOLIC)
# The template of `python -m memarray new` is an example, so that it is built and tested as one.
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/examples/gray_scott" "${MEMARRAY_PACKAGE_DIR}/.project" SYMBOLIC)
