#include <memarray/base/errors.hpp>

#include <utility>

namespace memarray {

// Out of line: one vtable and type_info each, for catches across shared libraries.
Error::~Error() = default;
LockError::~LockError() = default;
UnsupportedTypeError::~UnsupportedTypeError() = default;
CudaError::~CudaError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
ValueError::~ValueError() = default;
TypeError::~TypeError() = default;
BufferError::~BufferError() = default;
IndexError::~IndexError() = default;
OverflowError::~OverflowError() = default;
Interrupted::~Interrupted() = default;

CudaError::CudaError(int code, std::string name, std::string const& message)
    : Error(message), _code(code), _name(std::move(name)) {}

OutOfMemoryError::OutOfMemoryError(std::string const& message)
    : CudaError(cuda_code::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", message) {}

}  // namespace memarray
