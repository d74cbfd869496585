// Static node memory that several nodes train together, each for its own vertices. The judge is one rank that has all
// vectors.
#include <gtest/gtest.h>

#include <mutex>

#include "backends/communicator.hpp"
#include "harness/event_batches/batches/static_memory.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "workloads/binary/binary_graph.hpp"

namespace strobe {
namespace {

using event_test::event_case;

void on_nodes(int nodes, const RankProgram& program) {
  LaunchRequest request;
  request.ranks = nodes;
  request.make_device = DeviceRegistry::instance().find("cpu", "/device").value;
  CommunicatorRegistry::instance().find("local", "/comm").value.launch(request, program);
}

Case static_case(const std::string& events, const Json& changes = Json::object()) {
  Json model = {{"static", "pretrained"}, {"static_epochs", 3}};
  if (changes.contains("model")) model.update(changes.at("model"));
  Json all = changes;
  all["model"] = model;
  return event_case(events, all);
}

std::vector<float> whole_vectors(const Case& request) {
  const EventCase c = begin_event_case(request);
  c.prepare_static_memory();
  const float* const first = c.data.static_memory->row(0);
  return {first, first + c.data.graph->vertices * c.data.static_memory->width()};
}

/// The vectors of all vertices, from the node that has them. `first` is called on each rank before they train.
std::vector<float> vectors_of_nodes(const Case& request, int nodes,
                                    const std::function<void(const EventCase&, Communicator&)>& first = {}) {
  std::vector<float> all;
  std::mutex mutex;
  on_nodes(nodes, [&](Device&, Communicator& column) {
    std::unique_lock lock(mutex);
    const EventCase c = begin_event_case(request);
    all.resize(static_cast<std::size_t>(c.data.graph->vertices * c.data.static_memory->width()));
    lock.unlock();
    if (first) first(c, column);
    c.prepare_static_memory(&column);
    const std::int64_t width = c.data.static_memory->width();
    for (std::int64_t v = column.rank(); v < c.data.graph->vertices; v += column.size())
      std::copy_n(c.data.static_memory->row(static_cast<VertexId>(v)), width, all.begin() + v * width);
  });
  return all;
}

TEST(StaticMemoryInParts, HasTheBitsOfTheWhole) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 6, 1700);
  for (const Json& changes :
       {Json{{"precision", "fp32"}}, Json{{"precision", "fp64"}, {"model", {{"output", "merge"}}}},
        Json{{"threads", 2}, {"host_threads", 2}, {"model", {{"loss", "bce"}}}},
        Json{{"task", {{"kept_out", 0.15}, {"training_negatives", 3}}}}}) {
    const Case request = static_case(visits, changes);
    const std::vector<float> whole = whole_vectors(request);
    for (const int nodes : {2, 3, 5}) EXPECT_EQ(vectors_of_nodes(request, nodes), whole) << nodes << " " << changes;
  }
}

/// A rank that writes the memory of all vertices has trained alone after the first case of a suite.
TEST(StaticMemoryInParts, IsTrainedAgainWhenOneRankLacksIt) {
  const test::TemporaryFolder folder;
  const Case request = static_case(event_test::random_visits(folder, 7, 400));
  const std::vector<float> whole = whole_vectors(request);
  const auto again = [&](const EventCase& c, Communicator& column) {
    c.prepare_static_memory(&column);
    if (column.rank() == 0) c.prepare_static_memory();
  };
  EXPECT_EQ(vectors_of_nodes(request, 2,
                             [&](const EventCase& c, Communicator& column) {
                               again(c, column);
                               for (VertexId v = 0; column.rank() == 0 && v < c.data.graph->vertices; ++v)
                                 ASSERT_TRUE(std::equal(whole.begin() + v * 6, whole.begin() + v * 6 + 6,
                                                        c.data.static_memory->row(v)));
                             }),
            whole);
}

/// Peak bytes of the device on which each of `nodes` ranks trains.
std::vector<double> peaks_of_training(const EventCase& c, int nodes) {
  std::vector<double> peaks(static_cast<std::size_t>(nodes));
  on_nodes(nodes, [&](Device&, Communicator& column) {
    const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cpu", "/device").value(DeviceRequest());
    const StaticTrainingSource source{c.training, c.model, c.task, 1};
    StaticTraining training(source, *device, 1, nodes == 1 ? nullptr : &column);
    training.epoch(0);
    peaks[static_cast<std::size_t>(column.rank())] = static_cast<double>(device->peak_bytes());
  });
  return peaks;
}

TEST(StaticMemoryInParts, ANodeTrainsInTheMemoryOfItsVertices) {
  constexpr std::int64_t vertices = 120'001, width = 6;
  const test::TemporaryFolder folder;
  EventGraph graph;
  graph.vertices = vertices;
  for (std::int64_t e = 0; e < 400; ++e) {
    graph.source.push_back(static_cast<VertexId>(e * 131 % 5000)), graph.target.push_back(5000 + e % 37);
    graph.time.push_back(static_cast<double>(e));
  }
  graph.original_id = std::vector<std::int64_t>(vertices, 7);
  const std::string path = folder.file("many.strobe");
  write_binary_graph(graph, path);
  const EventCase c = begin_event_case(static_case(path));
  const double of_vectors = 4.0 * sizeof(float) * width * vertices;  // values, gradients and two moments
  const double least = peaks_of_training(c, 1).front();
  EXPECT_GE(least, of_vectors);
  for (const int nodes : {2, 4}) {
    for (const double peak : peaks_of_training(c, nodes)) {
      EXPECT_GE(peak, of_vectors / nodes - 1e3);
      EXPECT_LE(peak, of_vectors / nodes + (least - of_vectors) + 1e5) << nodes;
    }
  }
}

}  // namespace
}  // namespace strobe
