# Installed beside memarrayConfig.cmake, for projects that use memarray.
include_guard(GLOBAL)

# memarray_add_module(name sources... [CUDA])
#
# A pybind11 module that is linked to memarray. A .cu among its sources is compiled by nvcc where the project has CUDA
# enabled and memarray was built with it, else by the C++ compiler; with CUDA the module is refused where it would be.
function(memarray_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA" "" "")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT sources)
    message(FATAL_ERROR "memarray_add_module(${name}): no sources given")
  endif()
  if(NOT Python_EXECUTABLE OR NOT TARGET Python::Module)
    find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  endif()
  if(NOT COMMAND pybind11_add_module)
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir
      OUTPUT_VARIABLE folder
      OUTPUT_STRIP_TRAILING_WHITESPACE
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "memarray_add_module(${name}): ${Python_EXECUTABLE} has no pybind11: "
                          "run '${Python_EXECUTABLE} -m pip install pybind11'")
    endif()
    set(PYBIND11_FINDPYTHON ON)
    find_package(pybind11 3.0 CONFIG REQUIRED PATHS "${folder}" NO_DEFAULT_PATH GLOBAL)
  endif()

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(CUDA IN_LIST languages AND memarray_HAS_CUDA)
    set(language CUDA)
  else()
    set(language CXX)
    if(arg_CUDA AND NOT memarray_HAS_CUDA)
      message(FATAL_ERROR "memarray_add_module(${name} CUDA): this memarray was built without CUDA; "
                          "install it again where nvcc is, with MEMARRAY_CUDA=ON")
    elseif(arg_CUDA)
      message(FATAL_ERROR "memarray_add_module(${name} CUDA): this project has no CUDA; "
                          "call find_package(memarray CONFIG REQUIRED COMPONENTS CUDA) or enable_language(CUDA) first")
    endif()
  endif()
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  if(kernels)
    set_source_files_properties(${kernels} PROPERTIES LANGUAGE ${language})
  endif()

  pybind11_add_module(${name} MODULE NO_EXTRAS ${sources})
  target_link_libraries(${name} PRIVATE memarray::memarray)
  set_target_properties(
    ${name}
    PROPERTIES CXX_VISIBILITY_PRESET hidden
               CUDA_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               CUDA_STANDARD 20
               CUDA_RUNTIME_LIBRARY Static)
endfunction()
