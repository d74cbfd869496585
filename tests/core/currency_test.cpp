#include "core/currency.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strobe {
namespace {

TEST(Currency, CodesAreThreeCapitalsInOrder) {
  const std::vector<std::string>& codes = currency_codes();
  EXPECT_TRUE(std::is_sorted(codes.begin(), codes.end()));
  EXPECT_EQ(std::adjacent_find(codes.begin(), codes.end()), codes.end());
  for (const std::string& code : codes) {
    EXPECT_EQ(code.size(), 3u) << code;
    EXPECT_TRUE(std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) << code;
    EXPECT_EQ(currency_code(code), code);
  }
}

TEST(Currency, CaseDoesNotMatter) {
  for (const char* text : {"usd", "Usd", "uSD", "USD"}) EXPECT_EQ(currency_code(text), "USD");
  EXPECT_EQ(currency_code("jpy"), "JPY");
  EXPECT_EQ(currency_code("eur"), "EUR");
}

TEST(Currency, RefusesTextThatIsNoCode) {
  for (const char* text : {"", "E10", "usdd", "US", "$", "ABC", "XXX", " USD", "U$D", "dollars"}) {
    EXPECT_EQ(currency_code(text), "") << text;
  }
  EXPECT_EQ(unknown_currency_message("E10"), "'E10' is not an ISO 4217 currency code; write one such as USD");
}

}  // namespace
}  // namespace strobe
