// Mean rows of a batch, compared with a count over the events one after the other.
#include "harness/event_batches/trainer/batch_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

bool touches(const EventGraph& graph, EdgeId e, VertexId v) { return graph.source[e] == v || graph.target[e] == v; }

/// Vertices that events [first, end) read: both ends, one negative, and the `k` most recent neighbours of each.
std::set<VertexId> looked_at(const EventCase& c, EdgeId first, EdgeId end, std::size_t k) {
  const EventGraph& graph = *c.training.graph;
  std::set<VertexId> all;
  for (EdgeId e = first; e < end; ++e) {
    const std::size_t at = e;
    for (const VertexId root : {graph.source[at], graph.target[at], c.training.task->candidates->negative(e, 0, 0)}) {
      all.insert(root);
      std::size_t found = 0;
      for (EdgeId past = e - 1; past >= 0 && found < k; --past) {
        const std::size_t then = past;
        if (graph.time[then] == graph.time[at] || !touches(graph, past, root)) continue;
        all.insert(graph.source[then] == root ? graph.target[then] : graph.source[then]);
        ++found;
      }
    }
  }
  return all;
}

/// Vertices with an event among [first, end), and no later one below `batch_end`.
std::set<VertexId> ends_of(const EventGraph& graph, EdgeId first, EdgeId end, EdgeId batch_end) {
  std::set<VertexId> all;
  for (EdgeId e = first; e < end; ++e) all.insert({graph.source[e], graph.target[e]});
  for (EdgeId e = end; e < batch_end; ++e) {
    all.erase(graph.source[e]);
    all.erase(graph.target[e]);
  }
  return all;
}

/// The same means over the batches `chosen`, of i ranks with `local` events each.
BatchRows counted(const EventCase& c, std::int64_t i, std::int64_t local, const std::vector<std::int64_t>& chosen) {
  const EventGraph& graph = *c.training.graph;
  BatchRows rows;
  rows.batches = static_cast<std::int64_t>(chosen.size());
  for (const std::int64_t batch : chosen) {
    const EdgeId first = batch * i * local, end = std::min(c.training_events(), first + i * local);
    const std::set<VertexId> earlier = ends_of(graph, 0, first, first);
    for (std::int64_t part = 0; part < i; ++part) {
      const EdgeId from = first + (end - first) * part / i, to = first + (end - first) * (part + 1) / i;
      const std::set<VertexId> read = looked_at(c, from, to, 3);
      rows.read += static_cast<double>(read.size());
      rows.with_mail += static_cast<double>(
          std::count_if(read.begin(), read.end(), [&](VertexId v) { return earlier.count(v) > 0; }));
      rows.written += static_cast<double>(ends_of(graph, from, to, end).size());
    }
  }
  const double parts = rows.batches * i;
  rows.read /= parts, rows.with_mail /= parts, rows.written /= parts;
  return rows;
}

void expect_equal(const BatchRows& found, const BatchRows& judge) {
  EXPECT_EQ(found.batches, judge.batches);
  EXPECT_DOUBLE_EQ(found.read, judge.read);
  EXPECT_DOUBLE_EQ(found.with_mail, judge.with_mail);
  EXPECT_DOUBLE_EQ(found.written, judge.written);
}

class BatchRowsTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  test::TemporaryFolder folder_;
};

TEST_P(BatchRowsTest, AreThoseOfEveryBatchOfASweep) {
  const std::string visits = event_test::random_visits(folder_, GetParam(), 300);
  for (const TrainingGroups groups : {TrainingGroups{1, 1, 1}, {2, 1, 1}, {3, 2, 1}, {1, 2, 2}}) {
    const EventCase c = begin_event_case(event_case(visits));
    const BatchOrder order(groups, c.training_events(), 16, c.training.task->negative_groups);
    std::vector<std::int64_t> all;
    // Groups of negatives follow the sweep, so those of the first one are group 0.
    for (std::int64_t b = 0; b < order.batches(); ++b) all.push_back(b);
    expect_equal(batch_rows(c, order), counted(c, groups.i, 16, all));
  }
}

TEST_P(BatchRowsTest, OfSomeBatchesAreThoseThatTheyHaveInAWholeSweep) {
  const EventCase c = begin_event_case(event_case(event_test::random_visits(folder_, GetParam(), 400)));
  const BatchOrder order({1, 1, 1}, c.training_events(), 10, c.training.task->negative_groups);
  ASSERT_EQ(order.batches(), 28);
  // Eight of 28: the middles of eighths.
  expect_equal(batch_rows(c, order, 1), counted(c, 1, 10, {1, 5, 8, 12, 15, 19, 22, 26}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, BatchRowsTest, ::testing::Range<std::uint64_t>(1, 6));

TEST(BatchRowsOfASchedule, StandInItsDescription) {
  const test::TemporaryFolder folder;
  const Case request = event_case(event_test::random_visits(folder, 3, 300));
  const Json reported = plan_case(request).at("schedule").at("mean_rows_of_batch");
  const EventCase c = begin_event_case(request);
  std::vector<std::int64_t> all;
  for (std::int64_t b = 0; b < c.batches(); ++b) all.push_back(b);
  const BatchRows judge = counted(c, 1, c.options.batch, all);
  EXPECT_DOUBLE_EQ(reported.at("read"), judge.read);
  EXPECT_DOUBLE_EQ(reported.at("with_mail"), judge.with_mail);
  EXPECT_DOUBLE_EQ(reported.at("written"), judge.written);
  EXPECT_EQ(reported.at("batches_drawn"), judge.batches);
}

}  // namespace
}  // namespace strobe
