// The guess from a paper's other figures: compared with a count by hand, and in the summary with the errors of
// predictions.
#include "harness/validation/published_guess.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace strobe {
namespace {

PublishedValue printed_time(const std::string& row, const std::string& column, double printed) {
  PublishedValue value;
  value.experiment = "t", value.row = row, value.column = column, value.quantity = "epoch_seconds";
  value.cases = {Json::object()};
  value.printed = printed;
  value.predicted = printed;
  return value;
}

TEST(PublishedGuess, IsTheMedianOfTheSystemsOtherValues) {
  PublishedPaper paper;
  paper.values = {printed_time("system=A model=x", "ST", 1),  printed_time("system=A model=y", "ST", 4),
                  printed_time("system=A model=z", "ST", 16), printed_time("system=AB model=x", "ST", 2),
                  printed_time("system=A model=x", "TT", 9),  printed_time("system=AB model=y", "ST", 5)};
  PublishedValue verdict = printed_time("system=A model=w", "ST", 1);
  verdict.quantity = "out_of_memory";
  PublishedValue withheld = printed_time("system=A model=w", "ST", 1);
  withheld.printed.reset();
  PublishedValue bound = printed_time("system=A model=w", "ST", 1000);
  bound.at_most = true;
  paper.values.insert(paper.values.end(), {verdict, withheld, bound});
  take_guesses(paper);
  const std::vector<std::optional<double>> expected = {10, 8.5, 2.5, 5, std::nullopt, 2, {}, {}, {}};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(paper.values[i].guess, expected[i]) << i;
  EXPECT_EQ(paper.values[0].guess_error, 9.0);
  EXPECT_EQ(paper.values[3].guess_error, 1.5);
}

TEST(PublishedGuess, WithoutSystemsTheColumnIsTheSystem) {
  PublishedPaper paper;
  paper.values = {printed_time("model=x", "snapshot", 1), printed_time("model=y", "snapshot", 3),
                  printed_time("model=x", "hyper", 7)};
  take_guesses(paper);
  EXPECT_EQ(paper.values[0].guess, 3.0);
  EXPECT_EQ(paper.values[1].guess, 1.0);
  EXPECT_FALSE(paper.values[2].guess);
  const PublishedSummary summary = summarise_published({paper});
  EXPECT_EQ(summary.guessed_times.count, 2u);
  EXPECT_DOUBLE_EQ(summary.guessed_times.factor, 3.0);
  EXPECT_EQ(summary.times.count, 3u);
}

}  // namespace
}  // namespace strobe
