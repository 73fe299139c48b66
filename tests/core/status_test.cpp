// Status, Result, and the macro that hands errors on.
#include "wavefill/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "core/errors.h"
#include "wavefill/version.h"

namespace wavefill {
namespace {

TEST(Status, DefaultIsOkAndCarriesNothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::ok);
  EXPECT_TRUE(status.message().empty());
}

// Logs and JSON hold these names, so that they may not collide or change.
TEST(Status, CodesHaveDistinctStableNames) {
  std::set<std::string_view> names;
  for (int code = 0; code <= 8; ++code) names.insert(to_string(static_cast<StatusCode>(code)));
  EXPECT_EQ(names,
            (std::set<std::string_view>{"ok", "invalid_argument", "unsupported", "not_found", "corrupt_data",
                                        "mismatch", "resource_exhausted", "unavailable", "internal"}));
  EXPECT_EQ(to_string(static_cast<StatusCode>(99)), "unknown");
}

TEST(Result, HoldsAValueThatCanBeMovedOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
  EXPECT_EQ(**result, 7);
  const std::unique_ptr<int> moved = *std::move(result);
  EXPECT_EQ(*moved, 7);
}

TEST(Result, HoldsTheStatusThatExplainsAbsence) {
  const Result<int> result = invalid_argument("topk is {}; allowed: >= {}", -1, 0);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(result.status().message(), "topk is -1; allowed: >= 0");
}

Status first_error(int& calls, const Status& a, const Status& b) {
  WAVEFILL_RETURN_IF_ERROR((++calls, a));
  WAVEFILL_RETURN_IF_ERROR((++calls, b));
  return {};
}

TEST(ReturnIfError, StopsAtTheFirstErrorAndEvaluatesOnce) {
  const Status bad = make_status(StatusCode::mismatch, "no");
  int calls = 0;
  EXPECT_EQ(first_error(calls, bad, {}), bad);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(first_error(calls, {}, bad), bad);
  EXPECT_TRUE(first_error(calls, {}, {}).ok());
  EXPECT_EQ(calls, 5);
}

TEST(Version, IsThatOfTheHeaders) {
  EXPECT_EQ(library_version(),
            fmt::format("{}.{}.{}", WAVEFILL_VERSION_MAJOR, WAVEFILL_VERSION_MINOR, WAVEFILL_VERSION_PATCH));
}

}  // namespace
}  // namespace wavefill
