# Installs everything into the package's own folder, so that a wheel has what C++ projects need.
include(CMakePackageConfigHelpers)

set(config_dir "${MEMARRAY_PACKAGE_DIR}/lib/cmake/memarray")
configure_file("${PROJECT_SOURCE_DIR}/cmake/memarrayConfig.cmake.in" "${config_dir}/memarrayConfig.cmake" @ONLY)
write_basic_package_version_file("${config_dir}/memarrayConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
foreach(module MemarrayCuda MemarrayAddModule)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${module}.cmake" "${config_dir}/${module}.cmake" COPYONLY)
endforeach()

install(TARGETS memarray LIBRARY DESTINATION ${MEMARRAY_INSTALL_DIR}/lib COMPONENT devel)
install(DIRECTORY "${config_dir}" DESTINATION ${MEMARRAY_INSTALL_DIR}/lib/cmake COMPONENT devel)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/memarray" DESTINATION ${MEMARRAY_INSTALL_DIR}/include COMPONENT devel)
install(FILES "${MEMARRAY_DLPACK_DIR}/dlpack/dlpack.h" DESTINATION ${MEMARRAY_INSTALL_DIR}/include/dlpack COMPONENT devel)
install(DIRECTORY "${MEMARRAY_BUNDLED_CCCL_DIR}/" DESTINATION ${MEMARRAY_INSTALL_DIR}/include/cccl COMPONENT devel)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/examples/gray_scott/"
  DESTINATION ${MEMARRAY_INSTALL_DIR}/.project
  COMPONENT module
  PATTERN "build" EXCLUDE
  PATTERN "__pycache__" EXCLUDE
  PATTERN ".pytest_cache" EXCLUDE)
if(TARGET _core)
  install(TARGETS _core LIBRARY DESTINATION ${MEMARRAY_INSTALL_DIR} COMPONENT module)
endif()
