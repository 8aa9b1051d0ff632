# Finds an nvcc, on the PATH or off it, whose toolkit has CCCL 3. Also installed, for projects that use memarray.
include_guard(GLOBAL)

# memarray_find_cuda(AUTO|ON|OFF): sets MEMARRAY_CUDA_COMPILER (empty: none) and MEMARRAY_CUDA_CCCL_DIR.
# ON fails if nothing usable is found; AUTO reports why and continues without. The first of these places with an nvcc is
# used: CMAKE_CUDA_COMPILER; the environment's CUDACXX; CUDAToolkit_ROOT, CUDA_PATH, CUDA_HOME and CUDA_ROOT, each as a
# variable of CMake or of the environment; the PATH; the usual prefixes. MEMARRAY_CUDA_PREFIXES replaces the usual
# prefixes: a list in CMake, separated by colons in the environment. If it is empty, no prefix is searched.
function(memarray_find_cuda wanted)
  set(MEMARRAY_CUDA_COMPILER "" PARENT_SCOPE)
  set(MEMARRAY_CUDA_CCCL_DIR "" PARENT_SCOPE)
  string(TOUPPER "${wanted}" wanted)
  if(wanted MATCHES "^(OFF|FALSE|NO|0)$")
    return()
  elseif(wanted MATCHES "^(ON|TRUE|YES|1)$")
    set(severity FATAL_ERROR)
  elseif(wanted STREQUAL "AUTO")
    set(severity STATUS)
  else()
    message(FATAL_ERROR "MEMARRAY_CUDA is '${wanted}'; it must be AUTO, ON or OFF")
  endif()

  set(compiler "${CMAKE_CUDA_COMPILER}")
  if(NOT compiler AND DEFINED ENV{CUDACXX})
    set(compiler "$ENV{CUDACXX}")
  endif()
  if(NOT compiler)
    set(hints "")
    foreach(variable CUDAToolkit_ROOT CUDA_PATH CUDA_HOME CUDA_ROOT)
      if(${variable})
        list(APPEND hints "${${variable}}/bin")
      endif()
      if(DEFINED ENV{${variable}})
        list(APPEND hints "$ENV{${variable}}/bin")
      endif()
    endforeach()
    set(prefixes /usr/local/cuda /opt/cuda /usr/local /usr)
    if(DEFINED MEMARRAY_CUDA_PREFIXES)
      set(prefixes ${MEMARRAY_CUDA_PREFIXES})
    elseif(DEFINED ENV{MEMARRAY_CUDA_PREFIXES})
      string(REPLACE ":" ";" prefixes "$ENV{MEMARRAY_CUDA_PREFIXES}")
    endif()
    list(TRANSFORM prefixes APPEND /bin)
    # CMake's own prefixes might include some that MEMARRAY_CUDA_PREFIXES leaves out.
    find_program(nvcc nvcc HINTS ${hints} PATHS ${prefixes} NO_CMAKE_SYSTEM_PATH NO_CACHE)
    if(nvcc)
      set(compiler "${nvcc}")
    endif()
  endif()
  if(NOT compiler)
    message(${severity} "memarray: no CUDA toolkit (looked at CUDACXX, CUDA_PATH, CUDA_HOME, the PATH and the usual prefixes)")
    return()
  endif()

  # nvcc may be a wrapper or a link: only its own output names the toolkit's folder.
  execute_process(
    COMMAND "${compiler}" --dryrun -c -x cu /dev/null -o /dev/null
    OUTPUT_VARIABLE dry_run
    ERROR_VARIABLE dry_run
    RESULT_VARIABLE failed)
  if(failed OR NOT dry_run MATCHES "_TARGET_DIR_=([^\n]*)\n.*TOP=([^\n]*)\n")
    message(${severity} "memarray: ${compiler} does not run as nvcc does")
    return()
  endif()
  set(top "${CMAKE_MATCH_2}")
  set(cccl "")
  foreach(candidate "${top}/${CMAKE_MATCH_1}/include/cccl" "${top}/include/cccl")
    if(EXISTS "${candidate}/cuda/std/__cccl/version.h")
      get_filename_component(cccl "${candidate}" REALPATH)
      break()
    endif()
  endforeach()
  if(NOT cccl)
    message(${severity} "memarray: the CUDA toolkit of ${compiler} carries no CCCL 3 headers; CUDA 13.0 or newer is needed")
    return()
  endif()
  set(MEMARRAY_CUDA_COMPILER "${compiler}" PARENT_SCOPE)
  set(MEMARRAY_CUDA_CCCL_DIR "${cccl}" PARENT_SCOPE)
endfunction()
