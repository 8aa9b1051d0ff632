# Headers from Python packages. Every configuration asks the interpreter for their folders: in pip's isolated builds
# neither CMake's search nor sysconfig finds them, and the folders change with each build.

# memarray_locate_in_package(result distribution suffix up): the folder `up` levels above the file that ends in `suffix`
function(memarray_locate_in_package result distribution suffix up)
  execute_process(
    COMMAND
      "${Python_EXECUTABLE}" -c
      "import importlib.metadata as m, sys
files = [p for p in m.files(sys.argv[1]) or () if p.as_posix().endswith(sys.argv[2])]
print(files[0].locate().resolve().parents[int(sys.argv[3])].as_posix() if files else '')"
      "${distribution}" "${suffix}" "${up}"
    OUTPUT_VARIABLE folder
    ERROR_VARIABLE error
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed OR NOT folder)
    message(FATAL_ERROR "memarray: ${Python_EXECUTABLE} has no ${distribution} with ${suffix}: "
                        "run '${Python_EXECUTABLE} -m pip install ${distribution}'.\n${error}")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# memarray_read_number(result file macro): the number that `file` defines `macro` as
function(memarray_read_number result file macro)
  file(STRINGS "${file}" line REGEX "define[ \t]+${macro}[ \t]+[0-9]+")
  string(REGEX MATCH "${macro}[ \t]+([0-9]+)" _ "${line}")
  set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# Sets MEMARRAY_BUNDLED_CCCL_DIR (installed with memarray), MEMARRAY_CCCL_DIR (included by this build),
# MEMARRAY_DLPACK_DIR, and their versions. Finds pybind11.
macro(memarray_find_dependencies)
  memarray_locate_in_package(MEMARRAY_BUNDLED_CCCL_DIR nvidia-cuda-cccl thrust/version.h 1)
  set(MEMARRAY_DLPACK_DIR "${PROJECT_SOURCE_DIR}/third_party/dlpack/include")
  memarray_locate_in_package(memarray_pybind11_dir pybind11 pybind11Config.cmake 0)

  # Headers of two CCCL versions do not compile together, so both compilers use nvcc's own.
  if(MEMARRAY_HAS_CUDA)
    set(MEMARRAY_CCCL_DIR "${MEMARRAY_CUDA_CCCL_DIR}")
  else()
    set(MEMARRAY_CCCL_DIR "${MEMARRAY_BUNDLED_CCCL_DIR}")
  endif()
  memarray_read_number(cccl "${MEMARRAY_CCCL_DIR}/cuda/std/__cccl/version.h" CCCL_VERSION)
  math(EXPR cccl_major "${cccl} / 1000000")
  math(EXPR cccl_minor "${cccl} / 1000 % 1000")
  math(EXPR cccl_patch "${cccl} % 1000")
  set(MEMARRAY_CCCL_VERSION ${cccl_major}.${cccl_minor}.${cccl_patch})
  if(MEMARRAY_CCCL_VERSION VERSION_LESS 3.0)
    message(FATAL_ERROR "memarray: CCCL ${MEMARRAY_CCCL_VERSION} in ${MEMARRAY_CCCL_DIR} is older than 3.0")
  endif()

  memarray_read_number(dlpack_major "${MEMARRAY_DLPACK_DIR}/dlpack/dlpack.h" DLPACK_MAJOR_VERSION)
  memarray_read_number(dlpack_minor "${MEMARRAY_DLPACK_DIR}/dlpack/dlpack.h" DLPACK_MINOR_VERSION)
  set(MEMARRAY_DLPACK_VERSION ${dlpack_major}.${dlpack_minor})

  unset(pybind11_DIR CACHE)
  set(PYBIND11_FINDPYTHON ON)
  find_package(pybind11 3.1 CONFIG REQUIRED PATHS "${memarray_pybind11_dir}" NO_DEFAULT_PATH)
endmacro()
