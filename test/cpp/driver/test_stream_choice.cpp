#include <memarray/base/errors.hpp>
#include <memarray/driver/stream_choice.hpp>

#include "handle_test.hpp"

namespace memarray {
namespace {

class StreamChoiceTest : public test::HandleTest {};

TEST_F(StreamChoiceTest, NumbersNameDefaultStreams) {
  EXPECT_TRUE(StreamChoice().is_default());
  for (int const number : {-1, 0, 1}) {
    EXPECT_TRUE(StreamChoice::numbered(number).is_default());
    EXPECT_EQ(as_intptr(StreamChoice::numbered(number).get()), 0);
  }
  EXPECT_EQ(as_intptr(StreamChoice::numbered(2).get()), 2);
  EXPECT_THROW(static_cast<void>(StreamChoice::numbered(-2)), ValueError);
}

TEST_F(StreamChoiceTest, AddressIsResolvedOnUse) {
  StreamHandle stream = create_stream_handle(get_primary_context(1));
  StreamChoice const choice = StreamChoice::numbered(as_intptr(stream));
  EXPECT_FALSE(choice.is_default());
  std::uint64_t const calls = devices.calls();
  StreamChoice const copy = choice;
  EXPECT_EQ(devices.calls(), calls);
  EXPECT_EQ(device_id_of(context_of(copy.get())), 1);
}

TEST_F(StreamChoiceTest, HandleIsKeptAlive) {
  StreamHandle stream = create_stream_handle(get_primary_context(0));
  {
    StreamChoice const choice = stream;
    stream.reset();
    EXPECT_EQ(devices.live().streams, 1);
    EXPECT_NE(choice.get(), nullptr);
  }
  EXPECT_EQ(devices.live().streams, 0);
}

TEST_F(StreamChoiceTest, AddressUnknownToTheDriverIsRefused) {
  devices.fail("cuStreamGetCtx", 1, 400, 1);
  EXPECT_THROW(static_cast<void>(StreamChoice::numbered(12345).get()), CudaError);
}

}  // namespace
}  // namespace memarray
