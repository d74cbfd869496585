// Which events are neighbours in a drawn batch, for every model with neighbours, and every sampling and history of its
// field table. They are compared with rules that read the list of events from its beginning, level by level. Batches
// are those of training and of evaluations, whole and in parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/registry_names.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

struct Rules {
  std::string model, sampling, history;
};

const Field* field_of(const std::string& model, const std::string& name) {
  for (const Field& field : ModelRegistry::instance().find(model).parameters.fields())
    if (field.name == name) return &field;
  return nullptr;
}

std::vector<Rules> every_rule() {
  std::vector<Rules> all;
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, "events")) {
    const Field *sampling = field_of(model, "sampling"), *history = field_of(model, "intra_batch_history");
    if (sampling == nullptr || history == nullptr) continue;
    for (const std::string& how : sampling->choices)
      for (const std::string& what : history->choices) all.push_back({model, how, what});
  }
  return all;
}

/// A root, or a neighbour whose own neighbours are drawn: a vertex at the moment of an event.
struct Asked {
  VertexId vertex;
  EdgeId at;
};

class HistoryJudge {
 public:
  HistoryJudge(const EventCase& c, const Rules& rules) : graph_(*c.data.graph), rules_(rules) {}

  /// `roots` are the batch's, in its order.
  void check(const BatchDraw& drawn, std::vector<Asked> asked) const {
    for (auto level = drawn.levels.rbegin(); level != drawn.levels.rend(); ++level) {
      ASSERT_EQ(level->offsets.size(), asked.size() + 1);
      std::vector<Asked> slots;
      for (std::size_t r = 0; r < asked.size(); ++r) {
        const std::vector<EdgeId> events(level->events.begin() + level->offsets[r],
                                         level->events.begin() + level->offsets[r + 1]);
        check_root(drawn.request, asked[r], events);
        for (const EdgeId e : events) slots.push_back({other_end(e, asked[r].vertex), e});
      }
      const bool innermost = level + 1 == drawn.levels.rend();
      for (std::size_t s = 0; s < slots.size() && innermost; ++s)
        EXPECT_EQ(drawn.vertices[level->slot_rows[s]], slots[s].vertex);
      asked.insert(asked.end(), slots.begin(), slots.end());
    }
  }

 private:
  double time(EdgeId e) const { return graph_.time[e]; }
  VertexId other_end(EdgeId e, VertexId v) const {
    const std::size_t at = e;
    return graph_.source[at] == v ? graph_.target[at] : graph_.source[at];
  }
  bool touches(EdgeId e, VertexId v) const { return graph_.source[e] == v || graph_.target[e] == v; }

  /// Events [0, seen) are visible under the history, at any moment.
  EdgeId seen(const BatchRequest& request) const {
    return rules_.history == "none" ? request.batch_first : graph_.events();
  }

  void check_root(const BatchRequest& request, const Asked& root, const std::vector<EdgeId>& events) const {
    constexpr std::size_t k = 3;
    const bool compat = rules_.sampling == "tgl_compat";
    const auto narrow = static_cast<float>(time(root.at));
    std::vector<EdgeId> past;  // of the vertex, in time order
    for (EdgeId e = 0; e < seen(request); ++e) {
      const bool counts = compat ? static_cast<float>(time(e)) <= narrow : time(e) < time(root.at);
      if (counts && touches(e, root.vertex)) past.push_back(e);
    }
    if (rules_.sampling == "uniform") {
      EXPECT_EQ(events.size(), std::min(k, past.size()));
      EXPECT_TRUE(std::is_sorted(events.begin(), events.end()));
      EXPECT_EQ(std::set<EdgeId>(events.begin(), events.end()).size(), events.size());
      EXPECT_TRUE(std::includes(past.begin(), past.end(), events.begin(), events.end()));
      return;
    }
    std::vector<EdgeId> judge;
    for (std::size_t i = past.size() > k ? past.size() - k : 0; i < past.size(); ++i) {
      // The released sampler never returns a vertex's first event. Its events at the same time take slots, but are
      // lost.
      if (!compat || (i > 0 && static_cast<float>(time(past[i])) < narrow - 1e-7F)) judge.push_back(past[i]);
    }
    EXPECT_EQ(events, judge) << "vertex " << root.vertex << " at event " << root.at;
  }

  const EventGraph& graph_;
  Rules rules_;
};

/// The batch's roots: sources, then each event's destination with its negatives.
std::vector<Asked> roots_of(const EventCase& c, const BatchDraw& drawn) {
  const EventGraph& graph = *c.data.graph;
  std::vector<Asked> roots;
  const auto at = [](EdgeId e) { return static_cast<std::size_t>(e); };
  for (EdgeId e = drawn.request.first; e < drawn.request.first + drawn.request.count; ++e)
    roots.push_back({graph.source[at(e)], e});
  for (EdgeId e = drawn.request.first; e < drawn.request.first + drawn.request.count; ++e) {
    std::vector<VertexId> candidates{graph.target[at(e)]};
    if (drawn.request.group >= 0) {
      candidates.push_back(c.data.task->candidates->negative(e, 0, drawn.request.group));
    } else {
      const std::vector<VertexId> others = c.data.task->candidates->evaluation(e, drawn.request.candidates);
      candidates.insert(candidates.end(), others.begin(), others.end());
    }
    candidates.resize(drawn.candidates, graph.target[at(e)]);
    for (const VertexId v : candidates) roots.push_back({v, e});
  }
  return roots;
}

class NeighbourHistory : public ::testing::TestWithParam<Rules> {};

TEST_P(NeighbourHistory, IsWhatTheListOfEventsSays) {
  const test::TemporaryFolder folder;
  const Rules& rules = GetParam();
  const Json model = {{"name", rules.model},
                      {"neighbours", 3},
                      {"time", 4},
                      {"sampling", rules.sampling},
                      {"intra_batch_history", rules.history}};
  for (const std::uint64_t seed : {5, 6}) {
    const EventCase c = begin_event_case(event_case(event_test::random_visits(folder, seed, 260, 6, 9),
                                                    {{"model", model}, {"strategy", {{"batch", 32}}}}));
    const HistoryJudge judge(c, rules);
    BatchDrawer drawer(c, c.data);
    MemoryClock clock(c.data.graph->vertices);
    Workers workers(1);
    for (EdgeId first = 0; first + 32 <= c.data.graph->events(); first += 32) {
      // Training draws a batch, or one rank's part of it. An evaluation draws some of a batch's events at a time.
      for (const BatchRequest& request : {BatchRequest{first + 7, 11, first, true, 1, 0, false, 32},
                                          BatchRequest{first + 20, 12, first, true, -1, 4, false},
                                          BatchRequest{first, 32, first, true, 0, 0, true}}) {
        BatchDraw drawn;
        drawer.draw(request, clock, workers, drawn);
        judge.check(drawn, roots_of(c, drawn));
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NeighbourHistory, ::testing::ValuesIn(every_rule()), [](const auto& parameter) {
  std::string name = parameter.param.model + "_" + parameter.param.sampling + "_" + parameter.param.history;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace strobe
