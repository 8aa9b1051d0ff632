# What every file of memarray itself is compiled with, on top of what memarray::memarray asks of everyone.
add_library(memarray_flags INTERFACE)
target_compile_options(
  memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>
                           $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(MEMARRAY_WARNINGS_AS_ERRORS)
  target_compile_options(
    memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                             $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>)
endif()
# What the library and its Python module are compiled with besides: a signed number that became an unsigned one, or the
# other way round, was a wrong value more than once.
add_library(memarray_signs INTERFACE)
target_compile_options(memarray_signs INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wsign-compare;-Wsign-conversion>)
if(MEMARRAY_SANITIZE)
  set(sanitize -fsanitize=${MEMARRAY_SANITIZE} -fno-omit-frame-pointer -g)
  if(MEMARRAY_SANITIZE MATCHES undefined)
    list(APPEND sanitize -fno-sanitize-recover=undefined)
  endif()
  if(MEMARRAY_SANITIZE MATCHES thread)
    # Else a thread's variables are on the heap, and whoever takes over the stack of a thread that has ended frees them:
    # a race, to a sanitizer that cannot see how they follow on one another.
    list(APPEND sanitize -ftls-model=initial-exec)
  endif()
  target_compile_options(memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${sanitize}>)
  target_link_options(memarray_flags INTERFACE -fsanitize=${MEMARRAY_SANITIZE})
endif()
if(MEMARRAY_COVERAGE)
  target_compile_options(memarray_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--coverage;-g>)
  target_link_options(memarray_flags INTERFACE --coverage)
endif()
