# Options for every file of memarray itself, besides those that memarray::memarray passes to its users.
add_library(memarray_flags INTERFACE)
target_compile_options(
  memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>
                           $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(MEMARRAY_WARNINGS_AS_ERRORS)
  target_compile_options(
    memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                             $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>)
endif()
# Warnings for the library and its Python module alone: implicit changes of sign have caused wrong values before.
add_library(memarray_signs INTERFACE)
target_compile_options(
  memarray_signs INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wsign-compare;-Wsign-conversion>
                           $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wsign-compare,-Wsign-conversion>)
if(MEMARRAY_SANITIZE)
  set(sanitize -fsanitize=${MEMARRAY_SANITIZE} -fno-omit-frame-pointer -g1)
  if(MEMARRAY_SANITIZE MATCHES undefined)
    list(APPEND sanitize -fno-sanitize-recover=undefined)
  endif()
  if(MEMARRAY_SANITIZE MATCHES thread)
    # Else the variables of a thread are on the heap, and the next thread on the stack of an ended thread frees them.
    # The sanitizer does not see the order of the two and reports a race.
    list(APPEND sanitize -ftls-model=initial-exec)
  endif()
  target_compile_options(memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${sanitize}>)
  target_link_options(memarray_flags INTERFACE -fsanitize=${MEMARRAY_SANITIZE})
endif()
if(MEMARRAY_COVERAGE)
  target_compile_options(memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--coverage;-g>)
  target_link_options(memarray_flags INTERFACE --coverage)
endif()
