#pragma once

/// @file
/// The only definition of the version, which CMake and pyproject.toml read.

#define MEMARRAY_VERSION_MAJOR 0
#define MEMARRAY_VERSION_MINOR 1
#define MEMARRAY_VERSION_PATCH 0

/// Increased when code compiled with older headers no longer works.
#define MEMARRAY_ABI_VERSION 4
