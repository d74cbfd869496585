// Golden fixtures of models of events, from an independent PyTorch form (events/generate/). It trains on the first
// batches of a small graph with the same start weights, the same negatives and plain gradient descent. After every
// batch, loss, logits, embeddings, gradients, memory, mails and their times must equal the fixture.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/communicator.hpp"
#include "harness/event_batches/trainer/batch_pass.hpp"
#include "harness/schedule/host_values.hpp"

namespace strobe {
namespace {

const std::string event_folder = std::string(STROBE_TEST_DIR) + "/golden/events/";

/// Values by name, of any number of dimensions.
std::map<std::string, std::vector<double>> read_fixture(const std::string& name) {
  std::ifstream file(event_folder + name, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::uint64_t header = 0;
  if (bytes.size() < 8) throw std::runtime_error("no fixture " + name);
  std::memcpy(&header, bytes.data(), 8);
  std::map<std::string, std::vector<double>> all;
  const Json entries = Json::parse(bytes.substr(8, header));
  for (const auto& [key, entry] : entries.items()) {
    if (key == "__metadata__") continue;
    const auto begin = entry.at("data_offsets")[0].get<std::size_t>(),
               end = entry.at("data_offsets")[1].get<std::size_t>();
    std::vector<double>& values = all[key];
    values.resize((end - begin) / 8);
    std::memcpy(values.data(), bytes.data() + 8 + header + begin, end - begin);
  }
  return all;
}

std::vector<std::vector<VertexId>> read_candidates(const std::string& name, std::int64_t events) {
  std::ifstream file(event_folder + name);
  std::vector<std::vector<VertexId>> given(events);
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    std::size_t event = 0;
    words >> event;
    for (VertexId v = 0; words >> v;) given.at(event).push_back(v);
  }
  return given;
}

Json all_event_cases() {
  std::ifstream file(event_folder + "cases.json");
  return Json::parse(file);
}

struct GoldenRun {
  Json golden;
  std::string precision, memory_on;
};

std::vector<GoldenRun> golden_runs() {
  std::vector<GoldenRun> all;
  for (const Json& golden : all_event_cases()) {
    for (const char* precision : {"fp64", "fp32"})
      for (const char* memory : {"host", "device"}) all.push_back({golden, precision, memory});
  }
  return all;
}

class EventGolden : public ::testing::TestWithParam<GoldenRun> {
 protected:
  EventCase load() {
    const GoldenRun& run = GetParam();
    Json task{{"name", "future-links"}, {"candidates", "3"}};
    task.update(run.golden.value("task", Json::object()));
    Case request = case_from_json(
        {{"workload", event_folder + run.golden.at("workload").get<std::string>()},
         {"model", run.golden.at("model")},
         {"strategy", {{"name", "sequential"}, {"batch", run.golden.at("batch")}, {"memory_on", run.memory_on}}},
         {"precision", run.precision},
         {"task", task}},
        "");
    EventCase c = begin_event_case(request);
    auto drawn = std::make_shared<EventTaskData>(*c.data.task);
    auto given = read_candidates(run.golden.at("candidates"), c.data.graph->events());
    drawn->training_negatives = static_cast<std::int64_t>(given.front().size());
    drawn->candidates = std::make_shared<EventCandidates>(*c.data.graph, std::move(given));
    c.data.task = drawn;
    for (const ParameterShape& shape : c.parameters) {
      const std::vector<double>& values = fixture_.at("start." + shape.name);
      EXPECT_EQ(values.size(), static_cast<std::size_t>(shape.rows * shape.columns)) << shape.name;
      c.start_values.insert(c.start_values.end(), values.begin(), values.end());
    }
    return c;
  }

  void expect_close(const std::vector<double>& values, const std::string& name) {
    const std::vector<double>& wanted = fixture_.at(name);
    ASSERT_EQ(values.size(), wanted.size()) << name;
    double largest = 1;
    for (const double value : wanted) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], wanted[i], tolerance_ * largest) << name << " at " << i;
  }

  void expect_gradients(const EventCase& c, Device& device, const Parameters& parameters, const std::string& at) {
    const std::vector<double> all = host_values(device, parameters.gradients());
    auto next = all.begin();
    for (const ParameterShape& shape : c.parameters) {
      const auto end = next + shape.rows * shape.columns;
      expect_close({next, end}, at + "gradient." + shape.name);
      next = end;
    }
  }

  void expect_memory(EventWalk& walk, const std::string& at) {
    if (walk.memory() == nullptr) return;
    const MemoryClock& clock = walk.clock();
    expect_close(walk.memory()->memory(), at + "memory");
    expect_close(walk.memory()->mails(), at + "mails");
    expect_close(clock.updated, at + "updated");
    expect_close(clock.mail_time, at + "mail_time");
    expect_close({clock.mail_event.begin(), clock.mail_event.end()}, at + "mail_event");
  }

  std::map<std::string, std::vector<double>> fixture_ = read_fixture(GetParam().golden.at("fixture"));
  double tolerance_ = GetParam().precision == "fp64" ? 1e-10 : 1e-5;
};

TEST_P(EventGolden, EveryBatchIsThatOfTheIndependentForm) {
  const EventCase c = load();
  DeviceRequest request;
  request.precision = c.fp64() ? ElementType::f64 : ElementType::f32;
  const auto device = DeviceRegistry::instance().find("cpu").value(request);
  EventWalk walk(c, c.data, *device);
  const Parameters parameters(*device, c.parameters, 1, c.start_values);
  const Tensor loss = device->allocate(1, 1, ElementType::f64);
  const std::int64_t batch = c.options.batch;
  int batches = 0;
  for (; fixture_.count(fmt::format("batch{}.loss", batches)) != 0; ++batches) {
    const std::string at = fmt::format("batch{}.", batches);
    device->run(Fill{parameters.gradients(), 0.0});
    device->run(Fill{loss, 0.0});
    const EdgeId first = batches * batch;
    Tape tape(*device);
    const PassOutput output =
        walk.pass(tape, parameters, walk.start_draw({first, batch, first, true, 0, 0, true}), Pass{});
    const Tensor labels = c.task->labels(*device, *c.data.graph, first, batch);
    c.task->add_loss(tape, output.outputs,
                     c.model->traits().binary_loss ? LinkLoss::binary_cross_entropy : LinkLoss::cross_entropy, labels,
                     1.0 / static_cast<double>(batch), loss);
    tape.backward();
    walk.write(output);
    expect_close(host_values(*device, loss), at + "loss");
    expect_close(host_values(*device, output.outputs->value), at + "logits");
    expect_close(host_values(*device, output.embeddings->value), at + "embeddings");
    if (fixture_.count(at + "gradient.decoder.source") != 0) expect_gradients(c, *device, parameters, at);
    expect_memory(walk, at);
    if (HasFatalFailure()) return;
    device->run(AddScaled{parameters.gradients(), parameters.values(), -GetParam().golden.at("rate").get<double>()});
  }
  EXPECT_GE(batches, 6);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EventGolden, ::testing::ValuesIn(golden_runs()), [](const auto& run) {
  std::string name = fmt::format("{}_{}_{}", run.param.golden.at("name").template get<std::string>(),
                                 run.param.precision, run.param.memory_on);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace strobe
