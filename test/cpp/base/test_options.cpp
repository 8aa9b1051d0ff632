#include <memarray/base/build_info.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>
#include <memarray/version.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace memarray::test {
namespace {

TEST(OptionsTest, PoliciesConvertToStringAndBack) {
  for (EscapedViews const policy : {EscapedViews::snapshot, EscapedViews::error, EscapedViews::alias})
    EXPECT_EQ(escaped_views_from_string(to_string(policy)), policy);
  for (char const* const word : {"", "Snapshot", "copy"}) {
    try {
      static_cast<void>(escaped_views_from_string(word));
      ADD_FAILURE() << word;
    } catch (ValueError const& error) {
      EXPECT_NE(std::string(error.what()).find("'snapshot', 'error' or 'alias'"), std::string::npos);
    }
  }
}

TEST(OptionsTest, OneInstancePerProcess) {
  EXPECT_EQ(&options(), &detail::process_options);
  EXPECT_EQ(options().escaped_views.load(), EscapedViews::snapshot) << "the default promises most";
  EXPECT_FALSE(options().trace_leases);
}

TEST(BuildInfoTest, ReportsFlavourAndAbi) {
  auto const facts = build_info();
  auto const value = [&](std::string_view key) {
    auto const found = std::find_if(facts.begin(), facts.end(), [&](BuildFact fact) { return fact.key == key; });
    return found == facts.end() ? std::string_view("(missing)") : found->value;
  };
  EXPECT_EQ(value("flavour"), MEMARRAY_HAS_CUDA ? "cuda" : "host");
  EXPECT_EQ(value("abi"), std::to_string(MEMARRAY_ABI_VERSION));
}

TEST(BuildInfoTest, IncompatibleStandardLibrariesAreRefusedByName) {
  auto const check = [](StandardLibrary library) {
    require_library(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0, library);
  };
  EXPECT_NO_THROW(check(MEMARRAY_STANDARD_LIBRARY));
  for (auto const& [library, word] : {std::pair(StandardLibrary::debug_libstdcxx, "_GLIBCXX_DEBUG"),
                                      std::pair(StandardLibrary::old_libstdcxx, "_GLIBCXX_USE_CXX11_ABI=0"),
                                      std::pair(StandardLibrary::other, "another C++ standard library")})
    try {
      check(library);
      ADD_FAILURE() << word;
    } catch (Error const& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  EXPECT_THROW(require_library(MEMARRAY_ABI_VERSION + 1, MEMARRAY_HAS_CUDA != 0, MEMARRAY_STANDARD_LIBRARY), Error);
}

TEST(BuildInfoTest, HeadersOfAnotherAbiVersionAreRefused) {
  EXPECT_NO_THROW(require_abi(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0));
  for (int const abi : {MEMARRAY_ABI_VERSION - 1, MEMARRAY_ABI_VERSION + 1}) {
    try {
      require_abi(abi, MEMARRAY_HAS_CUDA != 0);
      ADD_FAILURE() << abi;
    } catch (Error const& error) {
      EXPECT_NE(std::string(error.what()).find("build"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace memarray::test
