#include <dlfcn.h>

#include <cstdio>

// Loads the library named on the command line and runs its fault, as Python would.
int main(int argc, char** argv) {
  void* const library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  void* const function = library != nullptr ? dlsym(library, "fault") : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "usage: run_fault LIBRARY: %s\n", dlerror());
    return 2;
  }
  reinterpret_cast<void (*)()>(function)();
  return 0;
}
