#pragma once

#include <cstdint>
#include <vector>

namespace heat {

/// Uses each form of kernels over `n` elements, on a device or on the host (−1), and returns what they compute.
[[nodiscard]] std::vector<double> use_each_form(std::int64_t n, int device_id);
/// Like `use_each_form`, for planes: kernels and reductions over ranges of two dimensions, and kernels over rows.
[[nodiscard]] std::vector<double> use_forms_of_planes(std::int64_t rows, std::int64_t columns, int device_id);
/// Like `use_each_form`, for arrays of three and four dimensions, typed views, and settings of a launch.
[[nodiscard]] std::vector<double> use_forms_of_volumes(int device_id);

}  // namespace heat
