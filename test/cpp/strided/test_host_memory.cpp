#include "strided/host_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include <memarray/base/options.hpp>

namespace memarray::test {
namespace {

TEST(HostMemory, FillsElementsOfEverySizeAndNothingElse) {
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    for (std::size_t const itemsize : {1, 2, 3, 4, 8, 12, 16, 24, 100}) {
      std::vector<std::byte> element(itemsize);
      for (std::size_t i = 0; i < itemsize; ++i) element[i] = static_cast<std::byte>(i + 1);
      for (std::size_t const count :
           {std::size_t{0}, std::size_t{1}, std::size_t{1000}, (std::size_t{3} << 20) / itemsize + 5}) {
        std::vector<std::byte> memory((count + 1) * itemsize, std::byte{0xEE});
        detail::fill_host(memory.data(), element.data(), itemsize, count);
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(std::memcmp(memory.data() + i * itemsize, element.data(), itemsize), 0) << itemsize << " " << i;
        for (std::size_t i = count * itemsize; i < memory.size(); ++i) ASSERT_EQ(memory[i], std::byte{0xEE});
      }
    }
    options().threads = before;
  }
}

TEST(HostMemory, CopiesAllBytesAndNothingElse) {
  for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65'537}, (std::size_t{3} << 20) + 1}) {
    std::vector<std::byte> from(bytes);
    std::vector<std::byte> to(bytes + 1, std::byte{0xEE});
    for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7);
    detail::copy_host(to.data(), from.data(), bytes);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin()));
    EXPECT_EQ(to[bytes], std::byte{0xEE});
  }
}

}  // namespace
}  // namespace memarray::test
