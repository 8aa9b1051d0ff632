#pragma once

// The only definition of the version; CMake and pyproject.toml read it from this file.
#define MEMARRAY_VERSION_MAJOR 0
#define MEMARRAY_VERSION_MINOR 1
#define MEMARRAY_VERSION_PATCH 0

// Increased whenever code compiled against older headers no longer works with the new libmemarray.
#define MEMARRAY_ABI_VERSION 4
