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

CudaError::CudaError(int code, std::string const& message)
    : CudaError(code, detail::name_of_cuda_code(code), message) {}

OutOfMemoryError::OutOfMemoryError(std::string const& message) : CudaError(cuda_code::out_of_memory, message) {}

}  // namespace memarray
