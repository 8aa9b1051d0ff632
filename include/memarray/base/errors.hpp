#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/cuda_code.hpp>

#include <new>
#include <stdexcept>
#include <string>

namespace memarray {

/// A refused request. Python: `memarray.Error` (a `RuntimeError`).
class MEMARRAY_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// A conflict with another holder, or use of a closed lease. Python: `memarray.LockError` (also a `BufferError`).
class MEMARRAY_API LockError : public Error {
 public:
  using Error::Error;
  ~LockError() override;
};

/// A dtype or rank without a registered instance. Python: `memarray.UnsupportedTypeError` (also a `TypeError`).
class MEMARRAY_API UnsupportedTypeError : public Error {
 public:
  using Error::Error;
  ~UnsupportedTypeError() override;
};

/// A failed driver call, or a missing device. Python: `memarray.CudaError` (`.code`, `.name`).
class MEMARRAY_API CudaError : public Error {
 public:
  /// Takes a `CUresult` and its name.
  CudaError(int code, std::string name, std::string const& message);
  /// Takes the name from the list of `cuda_code`; that of any other code is "CUDA_ERROR_<code>".
  CudaError(int code, std::string const& message);
  ~CudaError() override;
  [[nodiscard]] int code() const noexcept { return _code; }
  [[nodiscard]] std::string const& name() const noexcept { return _name; }

 private:
  int _code;
  std::string _name;
};

/// A failed allocation. Python: `memarray.OutOfMemoryError` (a `CudaError` and a `MemoryError`).
class MEMARRAY_API OutOfMemoryError : public CudaError {
 public:
  explicit OutOfMemoryError(std::string const& message);
  ~OutOfMemoryError() override;
};

/// A wrong value. Python: `ValueError`.
class MEMARRAY_API ValueError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
  ~ValueError() override;
};

/// A wrong type. Python: `TypeError`.
class MEMARRAY_API TypeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
  ~TypeError() override;
};

/// Memory that cannot be exported or accessed as requested. Python: `BufferError`.
class MEMARRAY_API BufferError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~BufferError() override;
};

/// An index outside the array. Python: `IndexError`.
class MEMARRAY_API IndexError : public std::out_of_range {
 public:
  using std::out_of_range::out_of_range;
  ~IndexError() override;
};

/// A size beyond 64 bits. Python: `OverflowError`.
class MEMARRAY_API OverflowError : public std::overflow_error {
 public:
  using std::overflow_error::overflow_error;
  ~OverflowError() override;
};

/// A wait that the runtime ended (Ctrl-C), with its exception pending.
class MEMARRAY_API Interrupted : public Error {
 public:
  using Error::Error;
  ~Interrupted() override;
};

}  // namespace memarray
