# Module functions for projects that use memarray. Installed beside memarrayConfig.cmake.
include_guard(GLOBAL)

# Sets `folder` to the output of the Python package of a binding library for `question`.
macro(_memarray_folder_of package question)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m ${package} ${question}
    OUTPUT_VARIABLE folder
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "memarray_add_module(${name}): ${Python_EXECUTABLE} has no ${package}: "
                        "run '${Python_EXECUTABLE} -m pip install ${package}'")
  endif()
endmacro()

macro(_memarray_at_least version package option)
  if(${package}_VERSION VERSION_LESS ${version})
    message(FATAL_ERROR "memarray_add_module(${name}${option}): ${package} ${version} or later is needed, not "
                        "${${package}_VERSION}: run '${Python_EXECUTABLE} -m pip install --upgrade ${package}'")
  endif()
endmacro()

# Refuses options that change the layout of standard containers, because an installed libmemarray has the usual layout.
# The headers refuse definitions that a target adds later.
function(_memarray_refuse_other_containers name)
  get_target_property(imported memarray::memarray IMPORTED)
  if(NOT imported)
    return()
  endif()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
  get_directory_property(definitions COMPILE_DEFINITIONS)
  get_directory_property(options COMPILE_OPTIONS)
  set(all "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${configuration}} ${definitions} ${options}")
  foreach(refused _GLIBCXX_DEBUG _GLIBCXX_USE_CXX11_ABI=0)
    if(all MATCHES "(^|[ ;D])${refused}($|[ ;=])")
      message(FATAL_ERROR "memarray_add_module(${name}): the module would be compiled with ${refused}, and libmemarray "
                          "was not: containers or strings would have two layouts. Leave it out; "
                          "-D_GLIBCXX_ASSERTIONS checks, too, and changes no layout")
    endif()
  endforeach()
endfunction()

# memarray_add_module(name sources... [CUDA] [NANOBIND [FREE_THREADED]])
#
# Adds a module of pybind11, or of nanobind, that is linked to memarray. nvcc compiles a .cu among its sources if the
# project has CUDA enabled and memarray was built with it; else the C++ compiler does. With CUDA, the call fails instead
# of using the C++ compiler. FREE_THREADED: the module of nanobind declares that it needs no GIL. A module of pybind11
# declares it in its source, by PYBIND11_MODULE(name, module, pybind11::mod_gil_not_used()).
function(memarray_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA;NANOBIND;FREE_THREADED" "" "")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT sources)
    message(FATAL_ERROR "memarray_add_module(${name}): no sources given")
  endif()
  if(arg_FREE_THREADED AND NOT arg_NANOBIND)
    message(FATAL_ERROR "memarray_add_module(${name} FREE_THREADED): a module of pybind11 declares it in its source: "
                        "PYBIND11_MODULE(${name}, module, pybind11::mod_gil_not_used())")
  endif()
  _memarray_refuse_other_containers(${name})
  # The variables of an earlier find_package(Python) end with the function that called it.
  if(NOT Python_VERSION OR NOT TARGET Python::Module)
    find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  endif()
  if(arg_NANOBIND AND NOT COMMAND nanobind_add_module)
    _memarray_folder_of(nanobind --cmake_dir)
    find_package(nanobind CONFIG REQUIRED PATHS "${folder}" NO_DEFAULT_PATH)
    _memarray_at_least(2.12 nanobind " NANOBIND")
  elseif(NOT arg_NANOBIND AND NOT TARGET pybind11::module)
    _memarray_folder_of(pybind11 --cmakedir)
    set(PYBIND11_FINDPYTHON ON)
    # Takes a version that is new enough even if an older one was found before; else reports that version as too old.
    find_package(pybind11 3.1 CONFIG QUIET PATHS "${folder}" NO_DEFAULT_PATH GLOBAL)
    if(NOT pybind11_FOUND)
      find_package(pybind11 CONFIG REQUIRED PATHS "${folder}" NO_DEFAULT_PATH GLOBAL)
      _memarray_at_least(3.1 pybind11 "")
    endif()
  endif()

  # A property of the target: variables end with the folder that called find_package().
  get_target_property(has_cuda memarray::memarray MEMARRAY_HAS_CUDA)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(CUDA IN_LIST languages AND has_cuda)
    set(language CUDA)
  else()
    set(language CXX)
    if(arg_CUDA AND NOT has_cuda)
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

  if(arg_NANOBIND)
    # nanobind compiles all sources for size by default, which makes a simulation's loops slow.
    set(options NB_STATIC NOMINSIZE NOSTRIP NB_SUPPRESS_WARNINGS)
    if(arg_FREE_THREADED)
      list(APPEND options FREE_THREADED)
    endif()
    nanobind_add_module(${name} ${options} ${sources})
  else()
    pybind11_add_module(${name} MODULE NO_EXTRAS ${sources})
  endif()
  target_link_libraries(${name} PRIVATE memarray::memarray)
  set_target_properties(
    ${name}
    PROPERTIES CXX_VISIBILITY_PRESET hidden
               CUDA_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               CUDA_STANDARD 20
               CUDA_RUNTIME_LIBRARY Static)
endfunction()
