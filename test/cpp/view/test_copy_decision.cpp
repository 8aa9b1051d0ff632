#include <memarray/detail/view/copy_decision.hpp>

#include <gtest/gtest.h>

namespace memarray::detail {
namespace {

struct Row {
  bool same_device;
  bool is_contiguous;
  bool takes_strides;
  CopyDecision expected;
  bool copies;
};

TEST(CopyDecision, MatchesTheDecisionTable) {
  for (Row const& row : {
           Row{true, true, true, CopyDecision::as_it_is, false},
           Row{true, true, false, CopyDecision::as_it_is, false},
           Row{true, false, true, CopyDecision::strided, false},
           Row{true, false, false, CopyDecision::copy, true},
           Row{false, true, true, CopyDecision::transfer, true},
           Row{false, true, false, CopyDecision::transfer, true},
           Row{false, false, true, CopyDecision::transfer, true},
           Row{false, false, false, CopyDecision::transfer, true},
       }) {
    CopyDecision const decision = decide_copy(row.same_device, row.is_contiguous, row.takes_strides);
    EXPECT_EQ(decision, row.expected) << row.same_device << row.is_contiguous << row.takes_strides;
    EXPECT_EQ(copies(decision), row.copies);
  }
}

}  // namespace
}  // namespace memarray::detail
