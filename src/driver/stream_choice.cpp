#include <memarray/base/errors.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_choice.hpp>

#include <string>

namespace memarray {

StreamChoice StreamChoice::numbered(std::int64_t number) {
  if (number < -1)
    throw ValueError("stream must be None, -1, 0, 1, 2 or the address of a CUDA stream, not " + std::to_string(number));
  StreamChoice choice;
  choice._number = number <= 1 ? 0 : number;
  return choice;
}

StreamHandle StreamChoice::get() const {
  if (_is_named) return _stream;
  if (_number == 0) return default_stream();
  if (_number == 2) return get_per_thread_stream();
  StreamHandle stream = create_stream_handle_ref(reinterpret_cast<cu::Stream>(_number));
  if (!stream) throw_last_error("using the stream that was named by its address");
  return stream;
}

}  // namespace memarray
