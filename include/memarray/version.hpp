#pragma once

// The one place where the version is written; CMake and pyproject.toml read it from here.
#define MEMARRAY_VERSION_MAJOR 0
#define MEMARRAY_VERSION_MINOR 1
#define MEMARRAY_VERSION_PATCH 0

// Raised whenever code compiled against older headers would no longer work with a new libmemarray.
#define MEMARRAY_ABI_VERSION 4
