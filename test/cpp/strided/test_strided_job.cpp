// One description of an operation, checked before submission, then run on the host or in a stream.

#include <memarray/detail/strided/strided_job.hpp>

#include <memarray/base/errors.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using detail::Reduction;
using detail::StridedElements;
using detail::StridedJob;
using detail::ViewCore;

StridedElements elements(ViewCore const& view) { return {view.data(), view.dtype(), view.layout()}; }

class StridedJobTest : public ArrayTest {
 protected:
  std::array<std::int64_t, 2> shape{3, 4};
  ViewCore source = ViewCore::make(dtype_of<float>(), shape);
  ViewCore target = ViewCore::make(dtype_of<double>(), shape);
};

TEST_F(StridedJobTest, RunsOnTheHost) {
  float const two = 2;
  source.fill(&two);
  StridedJob{.target = elements(target), .source = elements(source)}.run_on_host();
  EXPECT_EQ(reinterpret_cast<double*>(target.data())[11], 2.0);
  StridedJob{.kind = StridedJob::Kind::add_index, .target = elements(target)}.run_on_host();
  EXPECT_EQ(reinterpret_cast<double*>(target.data())[11], 7.0);
}

TEST_F(StridedJobTest, InvalidJobIsRefusedBeforeSubmission) {
  DType structure = dtype_of<float>();
  structure.dl = {kDLOpaqueHandle, 32, 0};
  StridedElements unknown = elements(source);
  unknown.dtype = structure;
  EXPECT_THROW(StridedJob({.target = elements(target), .source = unknown}).check(), TypeError);
  EXPECT_THROW(StridedJob({.kind = StridedJob::Kind::add_index, .target = unknown}).check(), TypeError);
  std::int64_t const none = 0;
  StridedElements empty{nullptr, dtype_of<float>(), StridedLayout::dense({&none, 1}, 4)};
  StridedJob job{.kind = StridedJob::Kind::reduce, .reduction = Reduction::min, .axes = 1, .source = empty};
  EXPECT_THROW(job.check(), ValueError);
  job.reduction = Reduction::mean;
  EXPECT_NO_THROW(job.check());
}

TEST_F(StridedJobTest, EmptyReductionsGiveNaNMeanAndZeroSum) {
  std::int64_t const none = 0;
  StridedJob job{.kind = StridedJob::Kind::reduce,
                 .reduction = Reduction::mean,
                 .axes = 1,
                 .target = elements(target),
                 .source = {nullptr, dtype_of<double>(), StridedLayout::dense({&none, 1}, 8)}};
  job.of_nothing().run_on_host();
  EXPECT_TRUE(std::isnan(reinterpret_cast<double*>(target.data())[7]));
  job.reduction = Reduction::sum;
  job.of_nothing().run_on_host();
  EXPECT_EQ(reinterpret_cast<double*>(target.data())[7], 0.0);
}

/// A job on memory of a simulated device that begins 4 bytes after a multiple of 8, which no import accepts.
struct MisalignedJob {
  char const* name;
  StridedJob job;
  std::size_t alignment;  // of the misaligned access; 0: accesses are as narrow as the address requires
};

StridedElements elements_at(std::size_t offset, DType const& dtype, std::int64_t count) {
  return {reinterpret_cast<std::byte*>(offset), dtype, StridedLayout::dense({&count, 1}, dtype.itemsize)};
}

std::vector<MisalignedJob> misaligned_jobs() {
  constexpr std::int64_t count = 64;
  DType const& f8 = dtype_of<double>();
  DType const& f4 = dtype_of<float>();
  StridedElements const odd = elements_at(4, f8, count);
  StridedElements const one{reinterpret_cast<std::byte*>(2048), f8, StridedLayout()};
  StridedElements const odd_one{reinterpret_cast<std::byte*>(4), f8, StridedLayout()};
  StridedElements const many = elements_at(2048, f8, count);
  StridedElements const complexes = elements_at(4, dtype_of<std::complex<double>>(), count / 2);
  using Kind = StridedJob::Kind;
  auto const sum = [](StridedElements const& from, StridedElements const& to) {
    return StridedJob{.kind = Kind::reduce, .reduction = Reduction::sum, .axes = 1, .target = to, .source = from};
  };
  return {{"copy", {.target = many, .source = odd}, 0},
          {"fill", {.kind = Kind::fill, .target = odd, .element = std::vector<std::byte>(8)}, 0},
          {"add_index of float", {.kind = Kind::add_index, .target = elements_at(4, f4, count)}, 0},
          {"add_index", {.kind = Kind::add_index, .target = odd}, 8},
          {"add_index of complex", {.kind = Kind::add_index, .target = complexes}, 8},
          {"cast from", {.target = elements_at(2048, f4, count), .source = odd}, 8},
          {"cast to", {.target = odd, .source = elements_at(2048, f4, count)}, 8},
          {"sum in parts", sum(odd, one), 8},
          {"sum to", sum(many, odd_one), 8},
          {"sum of few", sum(elements_at(4, f8, 3), one), 8}};
}

TEST(StridedJobOnDeviceTest, MisalignedAccessIsAViolationOnSimulatedDevices) {
  for (auto const& [name, job, alignment] : misaligned_jobs()) {
    SCOPED_TRACE(name);
    testing::SimulatedDevices sim;
    {
      auto const memory = detail::DeviceMemory::of(0);
      detail::BoundStream const stream =
          detail::bind_stream(create_stream_handle(memory->context()), memory->context());
      auto const block = detail::Block::allocate(memory, stream, 4096);
      StridedJob placed = job;
      for (StridedElements* const each : {&placed.target, &placed.source})
        if (each->dtype.itemsize != 0)  // fills and add_index have no source
          each->data = block->data() + reinterpret_cast<std::uintptr_t>(each->data);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block->data()) % 16, 0U);
      placed.submit(*memory, stream);
      EXPECT_EQ(detail::synchronize(stream), alignment == 0);
      clear_last_error();
    }
    std::string const wanted = "aligned to " + std::to_string(alignment) + " bytes at an address that is 4 bytes past";
    auto const violations = sim.violations();
    ASSERT_EQ(violations.size(), alignment == 0 ? 0U : 1U);
    for (std::string const& violation : violations) EXPECT_NE(violation.find(wanted), std::string::npos) << violation;
  }
}

}  // namespace
}  // namespace memarray::test
