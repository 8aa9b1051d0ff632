// Kernels on strided device memory, run on the host for each thread of their grids and compared with the host's
// kernels.

#include "strided/device_strided_job.hpp"

#include <gtest/gtest.h>
#include <memarray/base/errors.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "strided_test.hpp"

namespace memarray::detail {
namespace {

/// A device whose grids run thread by thread, in an order that no program may depend on.
class HostMachine {
 public:
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  int launches = 0;
  std::size_t scratch_bytes = 0;

  template <class Kernel>
  void launch(Kernel kernel, std::int64_t size) {
    ASSERT_GT(size, 0);
    ++launches;
    unsigned const threads = 3;
    auto const blocks = static_cast<unsigned>(std::min<std::int64_t>(size / 2 + 1, 7));
    for (unsigned block = blocks; block-- > 0;)
      for (unsigned thread = 0; thread < threads; ++thread) kernel.run({block, thread, blocks, threads});
  }
  std::byte* scratch(std::size_t bytes) {
    scratch_bytes += bytes;
    // Device memory starts with arbitrary contents.
    _scratch.push_back(std::make_unique<std::vector<std::max_align_t>>(bytes / sizeof(std::max_align_t) + 1));
    auto* const memory = reinterpret_cast<std::byte*>(_scratch.back()->data());
    std::memset(memory, 0x5a, bytes);
    return memory;
  }
  std::byte* upload(std::size_t bytes, std::byte const* data) {
    return static_cast<std::byte*>(std::memcpy(scratch(bytes), data, bytes));
  }

 private:
  std::vector<std::unique_ptr<std::vector<std::max_align_t>>> _scratch;
};

class DeviceStridedTest : public ::testing::Test {
 protected:
  std::mt19937 random{20261122};
  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random); }

  /// Returns dense memory of a dtype, with small numbers and some NaN.
  ViewCore numbers(DType const& dtype, StridedLayout::Extents shape, bool nan) {
    ViewCore const as_double = ViewCore::make(dtype_of<double>(), shape);
    auto* const values = reinterpret_cast<double*>(as_double.data());
    for (std::int64_t i = 0; i < as_double.layout().size(); ++i)
      values[i] =
          nan && below(40) == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(below(200)) - 60;
    ViewCore result = ViewCore::make(dtype, shape);
    copy({result.data(), result.dtype(), result.layout()}, {as_double.data(), as_double.dtype(), as_double.layout()});
    return result;
  }
  /// Returns dense memory of a dtype, with small numbers, some NaN, or edge values.
  ViewCore values(DType const& dtype, StridedLayout::Extents shape) {
    if (below(2) == 0) return numbers(dtype, shape, below(2) == 0);
    ViewCore const edges = edge_values(dtype);
    ViewCore result = ViewCore::make(dtype, shape);
    for (std::int64_t i = 0; i < result.layout().size(); ++i)
      std::memcpy(result.data() + i * dtype.itemsize, edges.data() + below(edges.layout().size()) * dtype.itemsize,
                  dtype.itemsize);
    return result;
  }
  /// Returns the edge values of a dtype, and integers that a double rounds.
  static ViewCore edge_values(DType const& dtype) {
    std::vector<test::Number> values = test::edges(dtype);
    if (dtype.dl.code == kDLInt || dtype.dl.code == kDLUInt)
      for (int exponent = 54; exponent <= 62; ++exponent)
        values.push_back({0, 0, (std::uint64_t{1} << exponent) + (std::uint64_t{1} << (exponent - 8)) + 1});
    auto const count = static_cast<std::int64_t>(values.size());
    ViewCore result = ViewCore::make(dtype, {&count, 1});
    for (std::size_t i = 0; i < values.size(); ++i) test::write(dtype, result.data() + i * dtype.itemsize, values[i]);
    return result;
  }
  /// Returns a random view of `whole`.
  ViewCore changed(ViewCore const& whole) {
    StridedLayout layout = whole.layout();
    std::int64_t offset = 0;
    for (int d = 0; d < layout.ndim(); ++d) {
      if (below(3) == 0 && layout.extent(d) > 1)
        offset += layout.slice(d, {.start = below(2) == 0 ? std::optional<std::int64_t>(1) : std::nullopt,
                                   .step = below(2) == 0 ? -1 - below(3) : 1 + below(3)});
    }
    std::vector<int> order(static_cast<std::size_t>(layout.ndim()));
    for (int d = 0; d < layout.ndim(); ++d) order[static_cast<std::size_t>(d)] = d;
    std::shuffle(order.begin(), order.end(), random);
    if (!order.empty()) layout.transpose(order);
    return whole.at(layout, offset);
  }
  std::vector<std::int64_t> any_shape() {
    std::vector<std::int64_t> shape;
    for (std::int64_t left = below(5); left > 0; --left) shape.push_back(below(12) == 0 ? 0 : 1 + below(9));
    return shape;
  }
  static StridedElements elements(ViewCore const& view) { return {view.data(), view.dtype(), view.layout()}; }
  DType const& any_dtype() { return shipped_dtypes()[static_cast<std::size_t>(below(15))]; }

  static void run(StridedJob const& job) {
    HostMachine machine;
    DeviceStridedJob(job, machine).run();
  }
  static void expect_same(ViewCore const& got, ViewCore const& wanted, std::string const& what) {
    ASSERT_EQ(0, std::memcmp(got.data(), wanted.data(), wanted.bytes())) << what;
  }
};

TEST_F(DeviceStridedTest, CopiesAndCastsMatchTheHost) {
  for (int round = 0; round < 2000; ++round) {
    DType const& from = any_dtype();
    DType const& to = below(3) == 0 ? from : any_dtype();
    ViewCore const source = changed(values(from, any_shape()));
    ViewCore const got = ViewCore::make(to, source.layout().shape());
    ViewCore const wanted = ViewCore::make(to, source.layout().shape());
    run({.kind = StridedJob::Kind::copy, .target = elements(got), .source = elements(source)});
    copy({wanted.data(), to, wanted.layout()}, {source.data(), from, source.layout()});
    expect_same(got, wanted, std::string(from.name) + " to " + to.name + ", " + source.describe());
  }
}

TEST_F(DeviceStridedTest, CastsAtTheLimitsOfTypesMatchTheHost) {
  double const ends[] = {0x1p31,     -0x1p31, 0x1p32, 0x1p63,    -0x1p63,
                         0x1p64,     1e300,   -1e300, 65519.9,   65520.0,
                         0x1p-24,    0x1p-25, 3e-46,  0.1,       -0.5,
                         1.5,        255.9,   256,    -129,      INFINITY,
                         -INFINITY,  NAN,     0.0,    -0.0,      9007199254740993.0,
                         16777217.0, 2049.0,  257.0,  1.00390625};
  std::int64_t const count = std::size(ends);
  StridedLayout const line = StridedLayout::dense({&count, 1}, sizeof(double));
  for (DType const& from : shipped_dtypes()) {
    ViewCore const source = ViewCore::make(from, {&count, 1});
    copy({source.data(), from, source.layout()}, {reinterpret_cast<std::byte const*>(ends), dtype_of<double>(), line});
    for (DType const& to : shipped_dtypes()) {
      ViewCore const got = ViewCore::make(to, {&count, 1});
      ViewCore const wanted = ViewCore::make(to, {&count, 1});
      run({.kind = StridedJob::Kind::copy, .target = elements(got), .source = elements(source)});
      copy({wanted.data(), to, wanted.layout()}, {source.data(), from, source.layout()});
      expect_same(got, wanted, std::string(from.name) + " to " + to.name);
    }
  }
}

TEST_F(DeviceStridedTest, CastsOfEdgeValuesMatchTheHost) {
  for (DType const& from : shipped_dtypes()) {
    ViewCore const source = edge_values(from);
    for (DType const& to : shipped_dtypes()) {
      ViewCore const got = ViewCore::make(to, source.layout().shape());
      ViewCore const wanted = ViewCore::make(to, source.layout().shape());
      run({.kind = StridedJob::Kind::copy, .target = elements(got), .source = elements(source)});
      copy({wanted.data(), to, wanted.layout()}, {source.data(), from, source.layout()});
      expect_same(got, wanted, std::string(from.name) + " to " + to.name);
    }
  }
}

TEST_F(DeviceStridedTest, IndexSumsOfEdgeValuesMatchTheHost) {
  for (DType const& dtype : shipped_dtypes()) {
    ViewCore const got = edge_values(dtype);
    ViewCore const wanted = got.copy();
    StridedJob job{.kind = StridedJob::Kind::add_index, .target = elements(got)};
    run(job);
    job.target = elements(wanted);
    job.run_on_host();
    ViewCore const source = edge_values(dtype);
    ViewCore const spread = ViewCore::make(dtype, std::array{2 * source.layout().size()});
    StridedLayout every_second = spread.layout();
    std::int64_t const offset = every_second.slice(0, {.step = 2});
    ViewCore const strided = spread.at(every_second, offset);
    copy({strided.data(), dtype, every_second}, {source.data(), dtype, source.layout()});
    StridedJob{.kind = StridedJob::Kind::add_index, .target = elements(strided)}.run_on_host();
    for (std::int64_t i = 0; i < got.layout().size(); ++i) {
      std::int64_t const at = i * dtype.itemsize;
      test::Number const sum = test::read(dtype, wanted.data() + at);
      EXPECT_TRUE(test::same_with_sign(test::read(dtype, got.data() + at), sum)) << dtype.name << " at " << i;
      EXPECT_TRUE(test::same_with_sign(test::read(dtype, strided.data() + 2 * at), sum))
          << dtype.name << " at " << i << " of a strided view";
    }
    ViewCore const fresh = ViewCore::make(dtype, source.layout().shape());
    run({.kind = StridedJob::Kind::add_index, .target = elements(fresh), .source = elements(source)});
    expect_same(fresh, wanted, std::string("into other memory: ") + dtype.name);
    expect_same(source, edge_values(dtype), std::string("the source: ") + dtype.name);
  }
}

TEST_F(DeviceStridedTest, IndexSumsInVectorsMatchTheHost) {
  for (DType const& dtype : shipped_dtypes())
    for (std::int64_t const inner : {16, 31, 48})
      for (std::int64_t const first : {0, 1, 16}) {
        ViewCore const whole = numbers(dtype, std::array<std::int64_t, 3>{3, 5, 64}, false);
        ViewCore const twin = whole.copy();
        StridedLayout layout = whole.layout();
        std::int64_t const offset = layout.slice(2, {first, first + inner, 1});
        StridedJob job{.kind = StridedJob::Kind::add_index, .target = {whole.data() + offset, dtype, layout}};
        run(job);
        job.target.data = twin.data() + offset;
        job.run_on_host();
        expect_same(whole, twin,
                    std::string(dtype.name) + ", " + std::to_string(inner) + " from " + std::to_string(first));
      }
}

TEST(DeviceNestTest, VectorsNeedAdjacentElementsAtMultiplesOfTheirSize) {
  auto const has_vectors = [](std::vector<std::int64_t> const& shape, std::vector<std::int64_t> const& strides) {
    auto const nest = plan_add_index(StridedLayout::strided(shape, strides, 4), 4);
    return device_nest<std::uint32_t>(nest).has_vectors(4, 4);
  };
  EXPECT_TRUE(has_vectors({3, 8}, {32, 4}));
  EXPECT_TRUE(has_vectors({3, 8}, {64, 4}));
  EXPECT_TRUE(has_vectors({8}, {4}));
  EXPECT_FALSE(has_vectors({3, 6}, {24, 4}));
  EXPECT_FALSE(has_vectors({3, 8}, {36, 4}));
  EXPECT_FALSE(has_vectors({3, 8}, {64, 8}));
  EXPECT_FALSE(has_vectors({}, {}));
}

TEST_F(DeviceStridedTest, FillsAndIndexSumsMatchTheHost) {
  for (int round = 0; round < 1000; ++round) {
    DType const& dtype = any_dtype();
    ViewCore const whole = values(dtype, any_shape());
    ViewCore const twin = whole.copy();
    ViewCore const part = changed(whole);
    StridedElements other = elements(part);
    other.data = twin.data() + (part.data() - whole.data());
    std::vector<std::byte> element(dtype.itemsize, std::byte{1});
    StridedJob job{.kind = below(2) == 0 ? StridedJob::Kind::fill : StridedJob::Kind::add_index,
                   .target = elements(part),
                   .element = element};
    run(job);
    job.target = other;
    job.run_on_host();
    expect_same(whole, twin, part.describe());
  }
}

TEST_F(DeviceStridedTest, ReductionsMatchTheHost) {
  for (int round = 0; round < 3000; ++round) {
    DType const& dtype = any_dtype();
    auto const reduction = static_cast<Reduction>(below(4));
    // Sums in double of small numbers are exact in any order, those of edge values only in integers.
    bool const is_exact = reduction == Reduction::min || reduction == Reduction::max ||
                          (reduction == Reduction::sum && test::is_integer(dtype));
    bool const nan = !test::is_integer(dtype) && below(2) == 0;  // as an integer it is no small number
    ViewCore source = changed(is_exact ? values(dtype, any_shape()) : numbers(dtype, any_shape(), nan));
    if (below(4) == 0 && source.layout().ndim() < 6) {
      StridedLayout wide = source.layout();
      wide.insert(static_cast<int>(below(wide.ndim() + 1)));
      std::vector<std::int64_t> shape(wide.shape().begin(), wide.shape().end());
      for (std::int64_t& extent : shape)
        if (extent == 1) extent = 1 + below(5);
      wide.broadcast_to(shape);
      source = source.at(wide, 0);
    }
    auto const axes = static_cast<AxisMask>(below(std::int64_t{1} << source.layout().ndim()));
    try {
      check_reduce(reduction, dtype, source.layout(), axes);
    } catch (ValueError const&) {
      continue;
    }
    ViewCore const wanted = source.reduced(reduction, axes);
    ViewCore const got = ViewCore::make(wanted.dtype(), wanted.layout().shape());
    run({.kind = StridedJob::Kind::reduce,
         .reduction = reduction,
         .axes = axes,
         .target = elements(got),
         .source = elements(source)});
    std::string const what = std::string(to_string(reduction)) + " of " + source.describe();
    if (is_exact && dtype.dl.code != kDLComplex && dtype.dl.code != kDLFloat && dtype.dl.code != kDLBfloat) {
      expect_same(got, wanted, what);
      continue;
    }
    // NaN has several bit patterns, and of several complex numbers with a NaN any is the extreme.
    bool const is_extreme = reduction == Reduction::min || reduction == Reduction::max;
    auto const same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    ViewCore const left = ViewCore::make(dtype_of<std::complex<double>>(), got.layout().shape());
    ViewCore const right = ViewCore::make(dtype_of<std::complex<double>>(), got.layout().shape());
    copy({left.data(), left.dtype(), left.layout()}, {got.data(), got.dtype(), got.layout()});
    copy({right.data(), right.dtype(), right.layout()}, {wanted.data(), wanted.dtype(), wanted.layout()});
    auto const* const a = reinterpret_cast<std::complex<double> const*>(left.data());
    auto const* const b = reinterpret_cast<std::complex<double> const*>(right.data());
    auto const has_nan = [](std::complex<double> x) { return std::isnan(x.real()) || std::isnan(x.imag()); };
    for (std::int64_t i = 0; i < got.layout().size(); ++i)
      ASSERT_TRUE((same(a[i].real(), b[i].real()) && same(a[i].imag(), b[i].imag())) ||
                  (is_extreme && has_nan(a[i]) && has_nan(b[i])))
          << what << ": " << a[i] << ", not " << b[i];
  }
}

TEST_F(DeviceStridedTest, ManyTermsAreFoldedInRounds) {
  std::array<std::int64_t, 1> const shape{3'000'017};
  ViewCore const source = ViewCore::make(dtype_of<float>(), shape);
  auto* const values = reinterpret_cast<float*>(source.data());
  double exact = 0;
  for (std::int64_t i = 0; i < shape[0]; ++i)
    exact += static_cast<double>(values[i] = static_cast<float>(below(1 << 24)) / (1 << 24));
  float got = 0;
  HostMachine machine;
  StridedJob const job{.kind = StridedJob::Kind::reduce,
                       .reduction = Reduction::sum,
                       .axes = 1,
                       .target = {reinterpret_cast<std::byte*>(&got), dtype_of<float>(), {}},
                       .source = elements(source)};
  DeviceStridedJob(job, machine).run();
  EXPECT_EQ(got, static_cast<float>(exact));
  EXPECT_GE(machine.launches, 4) << "one round of parts, two of folding, and the end";
}

TEST_F(DeviceStridedTest, OnlyResultsOfSeveralPartsNeedScratchForAccumulators) {
  struct Case {
    DType const& dtype;
    std::array<std::int64_t, 2> shape;
    AxisMask axes;
    std::size_t bytes;
  };
  std::int64_t const many = std::int64_t{2} << 20;
  Case const cases[] = {
      {dtype_of<float>(), {many, 2}, 2, 0},
      // 160 terms give ten parts for each of three results, and one after the only folding round.
      {dtype_of<float>(), {3, 160}, 2, (30 + 3) * 8},
      {dtype_of<std::int16_t>(), {3, 160}, 2, (30 + 3) * 8},
      {dtype_of<std::complex<float>>(), {3, 160}, 2, (30 + 3) * 16},
  };
  for (Case const& each : cases) {
    ViewCore const source = ViewCore::make(each.dtype, each.shape);
    std::memset(source.data(), 0, source.bytes());
    for (Reduction const reduction : {Reduction::sum, Reduction::mean, Reduction::min, Reduction::max}) {
      ViewCore const got = ViewCore::make(reduced_dtype(reduction, each.dtype), {each.shape.data(), 1});
      StridedJob const job{.kind = StridedJob::Kind::reduce,
                           .reduction = reduction,
                           .axes = each.axes,
                           .target = elements(got),
                           .source = elements(source)};
      HostMachine machine;
      DeviceStridedJob(job, machine).run();
      EXPECT_EQ(machine.scratch_bytes, each.bytes) << each.dtype.name << " " << to_string(reduction);
      EXPECT_EQ(machine.launches, each.bytes == 0 ? 1 : 3);
    }
  }
}

TEST_F(DeviceStridedTest, FillsOfShippedDtypesNeedNoScratch) {
  ViewCore const target = ViewCore::make(dtype_of<std::complex<double>>(), std::array<std::int64_t, 1>{9});
  HostMachine machine;
  StridedJob const job{
      .kind = StridedJob::Kind::fill, .target = elements(target), .element = std::vector<std::byte>(16, std::byte{3})};
  DeviceStridedJob(job, machine).run();
  EXPECT_EQ(machine.scratch_bytes, 0U);
  EXPECT_EQ(target.data()[9 * 16 - 1], std::byte{3});
}

TEST_F(DeviceStridedTest, ElementsOfAnySizeAreCopiedAndSet) {
  struct Large {
    char bytes[37];
  };
  DType dtype = dtype_of<float>();
  dtype.dl = {kDLOpaqueHandle, 8, 0};
  dtype.itemsize = sizeof(Large);
  dtype.alignment = 1;
  std::array<std::int64_t, 2> const shape{5, 4};
  ViewCore const whole = ViewCore::make(dtype, shape);
  std::memset(whole.data(), 7, whole.bytes());
  StridedLayout layout = whole.layout();
  layout.slice(1, {.step = 2});
  ViewCore const part = whole.at(layout, 0);
  run({.kind = StridedJob::Kind::fill, .target = elements(part), .element = std::vector<std::byte>(37, std::byte{9})});
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t b = 0; b < 37; ++b) ASSERT_EQ(whole.data()[37 * i + b], std::byte(i % 2 == 0 ? 9 : 7));
  ViewCore const got = ViewCore::make(dtype, part.layout().shape());
  run({.kind = StridedJob::Kind::copy, .target = elements(got), .source = elements(part)});
  for (std::size_t b = 0; b < got.bytes(); ++b) ASSERT_EQ(got.data()[b], std::byte{9});
}

}  // namespace
}  // namespace memarray::detail
