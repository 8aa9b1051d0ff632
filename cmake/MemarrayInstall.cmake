# Everything goes into the package's own folder, so that a wheel carries what C++ projects need.
install(TARGETS memarray LIBRARY DESTINATION ${MEMARRAY_INSTALL_DIR}/lib COMPONENT devel)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/memarray" DESTINATION ${MEMARRAY_INSTALL_DIR}/include COMPONENT devel)
install(FILES "${MEMARRAY_DLPACK_DIR}/dlpack/dlpack.h" DESTINATION ${MEMARRAY_INSTALL_DIR}/include/dlpack COMPONENT devel)
install(
  DIRECTORY "${MEMARRAY_BUNDLED_CCCL_DIR}/"
  DESTINATION ${MEMARRAY_INSTALL_DIR}/include/cccl
  COMPONENT devel)
if(TARGET _core)
  install(TARGETS _core LIBRARY DESTINATION ${MEMARRAY_INSTALL_DIR} COMPONENT module)
endif()
