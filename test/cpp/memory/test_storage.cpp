#include <memarray/detail/memory/storage.hpp>

#include <gtest/gtest.h>

#include <cstdint>

#include <memarray/base/reports.hpp>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

using detail::Block;
using detail::BlockPtr;
using detail::Side;
using detail::Storage;

class StorageTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(upstream.blocks, 0) << "leaked"; }
  BlockPtr make() { return Block::allocate(CountingResource(upstream), 64, Block::Contents::uninitialized); }
  CountingResource::Counts upstream;
};

TEST_F(StorageTest, StartsValidOnOneSide) {
  for (Side const side : {Side::host, Side::device}) {
    BlockPtr const block = make();
    Storage const storage(side, block);
    EXPECT_EQ(storage.current(), side);
    EXPECT_TRUE(storage.valid(side));
    EXPECT_FALSE(storage.valid(other(side)));
    EXPECT_EQ(storage.block().get(), block.get());
    EXPECT_FALSE(storage.block(other(side)));
  }
}

TEST_F(StorageTest, CopyLeavesBothSidesValidAndWriteLeavesOne) {
  BlockPtr const here = make();
  BlockPtr const there = make();
  Storage storage(Side::host, here);
  storage.arrived(Side::device, there);
  EXPECT_EQ(storage.current(), Side::device);
  EXPECT_TRUE(storage.valid(Side::host));
  EXPECT_TRUE(storage.valid(Side::device));
  storage.arrived(Side::host);  // a valid side needs no copy
  EXPECT_EQ(storage.block().get(), here.get());
  EXPECT_TRUE(storage.valid(Side::device));
  storage.wrote(Side::host);
  EXPECT_FALSE(storage.valid(Side::device));
  EXPECT_EQ(storage.block(Side::device).get(), there.get()) << "a stale side keeps its memory, to be filled again";
}

TEST_F(StorageTest, ExportsOfASideCountUntilItIsStale) {
  BlockPtr const here = make();
  BlockPtr const there = make();
  Storage storage(Side::host, here);
  here->add_export(false);
  EXPECT_EQ(storage.exports().read_only, 1U);
  storage.arrived(Side::device, there);
  there->add_export(true);
  EXPECT_EQ(storage.exports().read_only, 1U);
  EXPECT_EQ(storage.exports().writable, 1U);
  storage.wrote(Side::device);
  EXPECT_EQ(storage.exports().read_only, 0U);
  EXPECT_EQ(storage.exports().writable, 1U);
  here->drop_export(false);
  there->drop_export(true);
  EXPECT_EQ(storage.exports().total(), 0U);
}

TEST_F(StorageTest, WritingASideMakesItCurrent) {
  Storage storage(Side::host, make());
  storage.arrived(Side::device, make());
  storage.wrote(Side::device);
  EXPECT_EQ(storage.current(), Side::device);
  EXPECT_FALSE(storage.valid(Side::host));
}

TEST_F(StorageTest, ReplaceReturnsTheOldBlock) {
  BlockPtr const old = make();
  Storage storage(Side::host, old);
  storage.arrived(Side::device, make());
  BlockPtr const fresh = make();
  EXPECT_EQ(storage.replace(Side::host, fresh).get(), old.get());
  EXPECT_EQ(storage.block().get(), fresh.get());
  EXPECT_EQ(storage.current(), Side::host);
  EXPECT_TRUE(storage.valid(Side::host));
  EXPECT_FALSE(storage.valid(Side::device)) << "new contents on one side make the other stale";
}

}  // namespace
}  // namespace memarray::test
