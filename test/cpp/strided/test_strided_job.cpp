// One description of an operation, checked before submission, then run on the host or in a stream.

#include <memarray/detail/strided/strided_job.hpp>

#include <memarray/base/errors.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <array>
#include <cmath>

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

}  // namespace
}  // namespace memarray::test
