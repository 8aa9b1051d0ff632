#include <memarray/detail/view/import_dlpack.hpp>

#include <memarray/base/errors.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <thread>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using detail::Block;
using detail::import_dlpack;
using detail::ViewCore;
using ::testing::ElementsAre;

/// A tensor of floats, shape (2, 3), that counts its deleter's calls.
template <class Managed>
struct Producer {
  alignas(64) float memory[64] = {};
  std::int64_t shape[20] = {2, 3};
  std::int64_t strides[20] = {3, 1};
  int deleted = 0;
  Managed managed{};

  Producer() {
    managed.dl_tensor = {memory, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  }
};

/// The object of a keep-alive that appends a letter to a string when it is dropped.
struct Noted {
  std::string* order;
  char letter;
};
Block::KeepAlive noted(std::string& order, char letter) {
  return {new Noted{&order, letter}, [](void* object) noexcept {
            auto* const self = static_cast<Noted*>(object);
            self->order->push_back(self->letter);
            delete self;
          }};
}

TEST(ImportBorrowedDLPackTest, KeepAliveLivesAsLongAsTheView) {
  float memory[6] = {};
  std::string order;
  ViewCore view;
  {
    std::int64_t shape[] = {2, 3};
    DLTensor tensor{memory, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
    view = import_dlpack(tensor, false, noted(order, 'k'));
    shape[0] = 0;  // the view has its own copy of the shape
  }
  EXPECT_THAT(view.layout().shape(), ElementsAre(2, 3));
  EXPECT_FALSE(view.writable());
  EXPECT_EQ(order, "");
  view = {};
  EXPECT_EQ(order, "k");
}

TEST(ImportBorrowedDLPackTest, KeepAliveIsDroppedWhenTheTensorIsRefused) {
  std::string order;
  std::int64_t shape[] = {-1};
  DLTensor const tensor{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  EXPECT_THROW(static_cast<void>(import_dlpack(tensor, true, noted(order, 'k'))), BufferError);
  EXPECT_EQ(order, "k");
}

template <class Managed>
class ImportDLPackTest : public ::testing::Test {};
using Kinds = ::testing::Types<DLManagedTensor, DLManagedTensorVersioned>;
TYPED_TEST_SUITE(ImportDLPackTest, Kinds);

TYPED_TEST(ImportDLPackTest, AnotherKeepAliveIsDroppedAfterTheTensor) {
  Producer<TypeParam> producer;
  std::string order;
  struct Seen {
    int* deleted;
    std::string* order;
  } seen{&producer.deleted, &order};
  Block::KeepAlive const also{&seen, [](void* object) noexcept {
                                auto const& self = *static_cast<Seen*>(object);
                                *self.order += std::to_string(*self.deleted);
                              }};
  {
    ViewCore const view = import_dlpack(&producer.managed, {}, also);
  }
  EXPECT_EQ(order, "1");
  // `also` is dropped after a refused tensor, too.
  producer.managed.dl_tensor.ndim = -1;
  EXPECT_THROW(static_cast<void>(import_dlpack(&producer.managed, {}, also)), BufferError);
  EXPECT_EQ(order, "12");
}

TYPED_TEST(ImportDLPackTest, ViewMatchesTheTensor) {
  Producer<TypeParam> producer;
  {
    ViewCore const view = import_dlpack(&producer.managed);
    EXPECT_EQ(view.data(), reinterpret_cast<std::byte*>(producer.memory));
    EXPECT_THAT(view.layout().shape(), ElementsAre(2, 3));
    EXPECT_THAT(view.layout().strides(), ElementsAre(12, 4));
    EXPECT_EQ(view.dtype(), dtype_of<float>());
    EXPECT_TRUE(view.writable());
    EXPECT_TRUE(view.block().is_foreign());
    ViewCore const other = view;
    EXPECT_EQ(producer.deleted, 0);
  }
  EXPECT_EQ(producer.deleted, 1);
}

TYPED_TEST(ImportDLPackTest, TheDeleterMayRunOnAnyThread) {
  Producer<TypeParam> producer;
  ViewCore view = import_dlpack(&producer.managed);
  std::thread([&] { view.close(); }).join();
  EXPECT_EQ(producer.deleted, 1);
}

TYPED_TEST(ImportDLPackTest, InvalidTensorIsRefusedAndDeletedOnce) {
  using P = Producer<TypeParam>;
  auto const refused = [](auto const& change) {
    P producer;
    change(producer, producer.managed.dl_tensor);
    std::string const words = message_of<BufferError>([&] { static_cast<void>(import_dlpack(&producer.managed)); });
    EXPECT_EQ(producer.deleted, 1);
    return words;
  };
  refused([](P&, DLTensor& t) { t.ndim = -1; });
  refused([](P&, DLTensor& t) { t.ndim = std::numeric_limits<std::int32_t>::max(); });
  refused([](P&, DLTensor& t) { t.shape = nullptr; });
  EXPECT_NE(refused([](P&, DLTensor& t) { t.data = nullptr; }).find("address is NULL"), std::string::npos);
  refused([](P& p, DLTensor&) { p.shape[1] = -3; });
  refused([](P& p, DLTensor&) { p.shape[1] = std::int64_t{1} << 62; });
  refused([](P& p, DLTensor&) { p.strides[0] = std::numeric_limits<std::int64_t>::min(); });
  refused([](P& p, DLTensor&) { p.strides[0] = std::int64_t{1} << 61; });
  refused([](P&, DLTensor& t) { t.dtype.bits = 33; });
  refused([](P&, DLTensor& t) { t.dtype.lanes = 2; });
  refused([](P&, DLTensor& t) { t.dtype.code = 200; });
  refused([](P&, DLTensor& t) { t.device.device_type = kDLMetal; });
  refused([](P&, DLTensor& t) { t.device.device_type = kDLCUDA; });
  refused([](P&, DLTensor& t) { t.device.device_id = -1; });
  refused([](P&, DLTensor& t) { t.byte_offset = ~std::uint64_t{0}; });
  refused([](P&, DLTensor& t) { t.byte_offset = 1; });
}

TYPED_TEST(ImportDLPackTest, UnusualButValidTensorsAreAccepted) {
  Producer<TypeParam> producer;
  producer.managed.dl_tensor.strides = nullptr;
  producer.managed.dl_tensor.device.device_id = 3;
  EXPECT_THAT(import_dlpack(&producer.managed).layout().strides(), ElementsAre(12, 4));
  Producer<TypeParam> empty;
  empty.shape[0] = 0;
  empty.strides[0] = std::numeric_limits<std::int64_t>::max();
  empty.managed.dl_tensor.data = nullptr;
  EXPECT_NE(import_dlpack(&empty.managed).data(), nullptr);
  Producer<TypeParam> scalar;
  scalar.managed.dl_tensor.ndim = 0;
  scalar.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(import_dlpack(&scalar.managed).layout().size(), 1);
  Producer<TypeParam> kept;
  kept.managed.deleter = nullptr;
  EXPECT_EQ(import_dlpack(&kept.managed).layout().size(), 6);
  EXPECT_EQ(kept.deleted, 0);
}

TEST(ImportVersionedTest, FlagsAndVersionsAreHonoured) {
  Producer<DLManagedTensorVersioned> producer;
  producer.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  EXPECT_FALSE(import_dlpack(&producer.managed).writable());
  producer.managed.flags = std::uint64_t{1} << 63;
  producer.managed.version.minor = 1000;
  EXPECT_TRUE(import_dlpack(&producer.managed).writable());
  EXPECT_EQ(producer.deleted, 2);
  for (std::uint32_t const major : {0U, 2U, ~0U}) {
    Producer<DLManagedTensorVersioned> other;
    other.managed.version.major = major;
    other.managed.dl_tensor.ndim = -77;  // not read: another major version may have other fields
    EXPECT_THROW(static_cast<void>(import_dlpack(&other.managed)), BufferError);
    EXPECT_EQ(other.deleted, 1);
  }
}

TEST(ImportVersionedTest, ReexportKeepsFlagsAndStrides) {
  Producer<DLManagedTensorVersioned> producer;
  producer.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  producer.strides[0] = 4;
  {
    DLPackTensor const exported(detail::export_versioned(import_dlpack(&producer.managed)));
    EXPECT_EQ(producer.deleted, 0);
    EXPECT_EQ(exported.flags(), DLPACK_FLAG_BITMASK_READ_ONLY);
    EXPECT_EQ(exported.tensor().data, producer.memory);
    EXPECT_EQ(exported.tensor().strides[0], 4);
    EXPECT_EQ(exported.tensor().byte_offset, 0U);
  }
  EXPECT_EQ(producer.deleted, 1);
  EXPECT_THROW(DLPackTensor(detail::export_unversioned(import_dlpack(&producer.managed))), BufferError);
  EXPECT_EQ(producer.deleted, 2);
  DLPackTensor const copied(detail::export_versioned(import_dlpack(&producer.managed), {.copy = true}));
  EXPECT_EQ(producer.deleted, 3) << "a copy needs it no more";
  EXPECT_EQ(copied.flags(), DLPACK_FLAG_BITMASK_IS_COPIED);
  EXPECT_EQ(copied.tensor().strides[0], 3);
}

TEST(ImportVersionedTest, NegativeStridesAreNotReexported) {
  Producer<DLManagedTensorVersioned> producer;
  producer.strides[1] = -1;
  producer.managed.dl_tensor.byte_offset = 8;
  ViewCore const view = import_dlpack(&producer.managed);
  EXPECT_THROW(DLPackTensor(detail::export_versioned(view)), BufferError);
  EXPECT_EQ(DLPackTensor(detail::export_versioned(view, {.copy = true})).tensor().strides[1], 1);
}

/// Imports tensors with random fields and valid addresses. Each import succeeds or throws `BufferError`, and the tensor
/// is deleted once.
TEST(ImportVersionedTest, RandomTensorsAreRefusedOrImported) {
  std::mt19937_64 random(3);
  auto const odd = [&]() -> std::int64_t {
    switch (random() % 6) {
      case 0: return static_cast<std::int64_t>(random());
      case 1: return -static_cast<std::int64_t>(random() % 4);
      case 2: return std::int64_t{1} << (random() % 63);
      default: return static_cast<std::int64_t>(random() % 4);
    }
  };
  int good = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    Producer<DLManagedTensorVersioned> producer;
    DLTensor& tensor = producer.managed.dl_tensor;
    for (int d = 0; d < 20; ++d) {
      producer.shape[d] = odd();
      producer.strides[d] = odd();
    }
    tensor.ndim = static_cast<std::int32_t>(random() % 8 == 0 ? odd() : static_cast<std::int64_t>(random() % 3));
    if (random() % 8 == 0) tensor.dtype = {static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random()), 1};
    if (random() % 8 == 0) tensor.device = {static_cast<DLDeviceType>(random() % 20), 0};
    if (random() % 8 == 0) tensor.byte_offset = static_cast<std::uint64_t>(odd());
    if (random() % 8 == 0) producer.managed.version.major = static_cast<std::uint32_t>(random() % 3);
    producer.managed.flags = random() % 8;
    try {
      ViewCore const view = import_dlpack(&producer.managed);
      good += view.layout().size() >= 0 ? 1 : 0;
    } catch (BufferError const&) {
    }
    ASSERT_EQ(producer.deleted, 1);
  }
  EXPECT_GT(good, 500);
  EXPECT_LT(good, 19'000);
}

}  // namespace
}  // namespace memarray::test
