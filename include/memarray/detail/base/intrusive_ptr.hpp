#pragma once

#include <utility>

namespace memarray {

/// A shared owner of an object with `retain()` and `release()`.
template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() noexcept = default;
  /// Takes over the caller's reference.
  explicit IntrusivePtr(T* owned) noexcept : _object(owned) {}
  IntrusivePtr(IntrusivePtr const& other) noexcept : _object(other._object) {
    if (_object) _object->retain();
  }
  IntrusivePtr(IntrusivePtr&& other) noexcept : _object(std::exchange(other._object, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(_object, other._object);
    return *this;
  }
  ~IntrusivePtr() {
    if (_object) _object->release();
  }
  /// Returns an additional owner of an object.
  [[nodiscard]] static IntrusivePtr share(T* object) noexcept {
    object->retain();
    return IntrusivePtr(object);
  }

  T* operator->() const noexcept { return _object; }
  T& operator*() const noexcept { return *_object; }
  [[nodiscard]] T* get() const noexcept { return _object; }
  explicit operator bool() const noexcept { return _object != nullptr; }

 private:
  T* _object = nullptr;
};

}  // namespace memarray
