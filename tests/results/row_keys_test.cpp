// Keys of rows that came with version 1.3: what they say, and that rows without them are read.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "results/row/row.hpp"
#include "results/row/table.hpp"
#include "results/run/row_against_samples.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using testing_results::make_sample;

TEST(Summarise, ThroughputIsOfOneUnitAndAlsoOfCells) {
  CaseResult result = make_result();
  for (const std::string_view unit : throughput_units) {
    result.throughput_unit = unit;
    const Row row = summarise(case_json(), "chess/x#1", result);
    EXPECT_EQ(row.throughput.size(), 1u) << unit;
    EXPECT_DOUBLE_EQ(row.throughput.at(std::string(unit)), 1000 / 1.0015);
  }
  result.throughput_unit = "edges_per_second";
  result.cells_per_epoch = 60;
  const Row row = summarise(case_json(), "chess/x#1", result);
  EXPECT_DOUBLE_EQ(row.throughput.at("cells_per_second"), 60 / 1.0015);
  EXPECT_DOUBLE_EQ(row.throughput.at("edges_per_second"), 1000 / 1.0015);
  EXPECT_EQ(row_from_json(row_to_json(row), "rows.json").throughput, row.throughput);
  result.throughput_unit = "vertices_per_second";
  EXPECT_THROW(summarise(case_json(), "chess/x#1", result), Error);
}

TEST(Summarise, WorkOfAnEpochIsAFactOfItsOwn) {
  CaseResult result = make_result();
  result.cells_per_epoch = 60;
  result.iterations_per_epoch = 4;
  Row row = summarise(case_json(), "chess/x#1", result);
  const Json expected{{"cells", 60.0}, {"edges", 1000.0}, {"events", nullptr}, {"updates", 4.0}};
  const Json json = row_to_json(row);
  EXPECT_EQ(json.at("epoch_work"), expected);
  EXPECT_EQ(row.absent.count("/epoch_work/events"), 1u);
  EXPECT_EQ(row_to_json(row_from_json(json, "rows.json")), json);
  EXPECT_DOUBLE_EQ(row.epoch_work->edges / row.epoch_seconds->median, row.throughput.at("edges_per_second"));
  // A row of an older version has it by its rates.
  Json older = json;
  older.erase("epoch_work");
  const EpochWork derived = work_of(row_from_json(older, "rows.json"));
  EXPECT_NEAR(derived.cells, 60, 1e-10);
  EXPECT_NEAR(derived.edges, 1000, 1e-10);
  EXPECT_EQ(derived.events, 0);
  EXPECT_EQ(derived.updates, 4);
}

TEST(Summarise, WorkIsKnownWithoutAMeasuredEpoch) {
  CaseResult result;
  result.status = "out_of_memory";
  result.items_per_epoch = 7;
  const Row row = summarise(case_json(), "chess/x#1", result);
  EXPECT_EQ(row.epoch_work->edges, 7);
  result.items_per_epoch = 0;
  EXPECT_FALSE(summarise(case_json(), "chess/x#1", result).epoch_work.has_value());
}

TEST(Summarise, OperationsAreTheSlowestRanksMeanOverEpochs) {
  CaseResult result;
  result.samples = {make_sample(0, 0, 0, 1, 0, 0), make_sample(0, 0, 1, 3, 1, 0), make_sample(0, 1, 0, 5, 0, 1),
                    make_sample(0, 1, 1, 2, 0, 0), make_sample(0, 2, 0, 9, 0, 0, true)};
  result.samples[0].operations = {{"dense", 100, 1, 1}};
  result.samples[1].operations = {{"dense", 1, 30, 8}, {"gather_rows", 5, 0, 12}};
  result.samples[2].operations = {{"dense", 2, 60, 16}};
  result.samples[4].operations = {{"dense", 100, 1, 1}};
  const Row row = summarise(case_json(), "c", result);
  const std::map<std::string, double> expected{{"dense", 1.5}, {"gather_rows", 2.5}};
  EXPECT_EQ(row.operation_seconds, expected);
  const Json json = row_to_json(row);
  EXPECT_EQ(json.at("operation_seconds"), Json({{"dense", 1.5}, {"gather_rows", 2.5}}));
  EXPECT_EQ(json.at("operation_flops"), Json({{"dense", 45.0}, {"gather_rows", 0.0}}));
  EXPECT_EQ(json.at("operation_bytes"), Json({{"dense", 12.0}, {"gather_rows", 6.0}}));
  EXPECT_EQ(row_from_json(json, "rows.json").operation_seconds, expected);
  EXPECT_EQ(row_to_json(row_from_json(json, "rows.json")), json);
  for (EpochSample& sample : result.samples)
    for (OperationTotals& operation : sample.operations) operation.flops = operation.bytes = 0;
  const Row workless = summarise(case_json(), "c", result);
  EXPECT_EQ(workless.operation_seconds, expected);
  EXPECT_FALSE(workless.operation_flops || workless.operation_bytes);
  EXPECT_EQ(workless.absent.at("/operation_flops"), "its samples state no work");
  const Row without = summarise(case_json(), "c", make_result());
  EXPECT_FALSE(without.operation_seconds);
  EXPECT_EQ(without.absent.at("/operation_seconds"), "its samples record no operation");
}

TEST(Summarise, PeaksAreThoseOfOneRanksDevice) {
  CaseResult result = make_result();  // of two ranks
  result.peak_flops_per_second = 4e9;
  result.peak_bytes_per_second = 1e9;
  const Row row = summarise(case_json(), "c", result);
  ASSERT_TRUE(row.device_peaks);
  EXPECT_EQ(row.device_peaks->flops_per_second, result.peak_flops_per_second / static_cast<double>(row.ranks));
  EXPECT_EQ(row.device_peaks->bytes_per_second, result.peak_bytes_per_second / static_cast<double>(row.ranks));
  EXPECT_EQ(row_from_json(row_to_json(row), "c").device_peaks->bytes_per_second, row.device_peaks->bytes_per_second);
  result.peak_bytes_per_second = 0;
  EXPECT_EQ(summarise(case_json(), "c", result).absent.at("/device_peaks"), "the peaks of this device are not known");
}

TEST(Summarise, MemoryPartsAreThoseOfEachRanksHighestPeak) {
  CaseResult result = make_result();
  EXPECT_EQ(summarise(case_json(), "c", result).absent.at("/memory_bytes"), "its samples tell of no parts");
  for (EpochSample& sample : result.samples) {
    const auto epoch = static_cast<std::uint64_t>(sample.epoch), rank = static_cast<std::uint64_t>(sample.rank);
    sample.memory_parts = {100 * rank + (epoch == 1 ? 9 : epoch), 2, 3, 4, 5};
  }
  const Row row = summarise(case_json(), "c", result);
  ASSERT_TRUE(row.memory_bytes);
  EXPECT_EQ(row.memory_bytes->accounted[MemoryPart::state], (std::vector<std::uint64_t>{9, 109}));
  EXPECT_EQ(row.memory_bytes->accounted[MemoryPart::samples], (std::vector<std::uint64_t>{5, 5}));
  EXPECT_FALSE(row.memory_bytes->planned || row.memory_bytes->host || row.memory_bytes->process);
  EXPECT_EQ(row.absent.at("/memory_bytes/process"), "its ranks share a process");
  for (EpochSample& sample : result.samples) {
    sample.process_bytes = static_cast<std::uint64_t>(1000 + 10 * sample.epoch + sample.rank);
    sample.host_parts = {0, 7, 8, 0, 0};
  }
  result.planned_memory = {{{1, 2, 3, 4, 5}}, {{6, 7, 8, 9, 10}}};
  const Row of_processes = summarise(case_json(), "c", result);
  EXPECT_EQ(*of_processes.memory_bytes->process, (std::vector<std::uint64_t>{1020, 1021}));
  EXPECT_EQ((*of_processes.memory_bytes->host)[MemoryPart::features], (std::vector<std::uint64_t>{8, 8}));
  EXPECT_EQ((*of_processes.memory_bytes->planned)[MemoryPart::graph], (std::vector<std::uint64_t>{2, 7}));
  const Json json = row_to_json(of_processes);
  EXPECT_EQ(row_to_json(row_from_json(json, "c")), json);
  EXPECT_EQ(difference_from_samples(of_processes, result.samples, true), "");
  result.samples.back().memory_parts[MemoryPart::graph] += 1000;
  EXPECT_NE(difference_from_samples(of_processes, result.samples, true), "");
}

TEST(Summarise, IterationsOfAnEpochAreStatedOrAbsentWithAReason) {
  CaseResult result = make_result();
  EXPECT_TRUE(row_to_json(summarise(case_json(), "c", result)).at("iterations").is_null());
  EXPECT_EQ(summarise(case_json(), "c", result).absent.count("/iterations"), 1u);
  result.iterations_per_epoch = 17;
  const Json json = row_to_json(summarise(case_json(), "c", result));
  EXPECT_EQ(json.at("iterations"), 17);
  EXPECT_EQ(row_from_json(json, "here").iterations, 17);
}

TEST(Summarise, DuplicatesOfHybridBatchesAreThereOrAbsentWithAReason) {
  const char* keys[] = {"cached_bytes", "distributed_bytes", "duplication", "redundant_computation"};
  CaseResult result = make_result();
  for (const char* key : keys) EXPECT_TRUE(row_to_json(summarise(case_json(), "c", result)).at(key).is_null());
  result.facts.values["redundant_computation"] = 1.5;
  result.facts.absent["cached_bytes"] = "not counted";
  const Row uncounted = summarise(case_json(), "c", result);
  EXPECT_EQ(row_to_json(uncounted).at("redundant_computation"), 1.5);
  EXPECT_TRUE(row_to_json(uncounted).at("cached_bytes").is_null());
  EXPECT_EQ(uncounted.absent.at("/cached_bytes"), "not counted");
  for (const char* key : {"/distributed_bytes", "/duplication"}) EXPECT_EQ(uncounted.absent.count(key), 1u) << key;
  result.facts.values["cached_bytes"] = {7, 9};
  result.facts.values["distributed_bytes"] = 20;
  result.facts.set("duplication", 0.25);
  Json json = row_to_json(summarise(case_json(), "c", result));
  const Row row = row_from_json(json, "here");
  EXPECT_EQ(row.facts, result.facts.values);
  EXPECT_EQ(row_to_json(row), json);
  json["cached_bytes"] = "many";
  EXPECT_THROW(row_from_json(json, "here"), InvalidInput);
  for (const char* key : keys) ASSERT_EQ(json.erase(key), 1u) << key;
  EXPECT_TRUE(row_from_json(json, "here").facts.empty());
  result.facts.set("duplication", std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(row_to_json(summarise(case_json(), "c", result)).at("duplication").is_null());
}

TEST(Summarise, NullsOfAnEarlyEndAndOfVirtualTimeHaveReasonsOfTheirOwn) {
  CaseResult result = make_result();
  result.metrics["accuracy"].per_epoch.back() = std::nan("");
  EXPECT_EQ(summarise(case_json(), "c", result).absent.at("/metrics/accuracy/2"), "not a finite number");
  EXPECT_EQ(summarise(case_json(), "c", result).absent.at("/machine"), "the machine was not observed");
  EXPECT_EQ(summarise(case_json(), "c", result).absent.at("/rounds"), "one process measured it");
  result.status = "timeout";
  result.time_source = "virtual";
  const Row row = summarise(case_json(), "c", result);
  EXPECT_EQ(row.absent.at("/metrics/accuracy/2"), "the case ended as timeout, or its weights are no longer finite");
  EXPECT_EQ(row.absent.at("/machine"), "the time is virtual");
  EXPECT_EQ(row.absent.at("/rounds"), "virtual time is the same in every process");
}

TEST(Row, OfTheVersionBeforeIsRead) {
  CaseResult result = make_result();
  result.iterations_per_epoch = 1;
  result.samples.back().operations = {{"dense", 1}};
  Json json = row_to_json(summarise(case_json(), "c", result));
  for (const char* key :
       {"operation_seconds", "operation_flops", "operation_bytes", "device_peaks", "iterations", "threads_per_rank",
        "rounds", "machine", "metric_samples", "currency", "device_memory_share", "epoch_seconds_band90",
        "memory_bytes", "load_seconds", "metric_best_rule", "metric_best_possible"})
    ASSERT_EQ(json.erase(key), 1u) << key;
  for (const char* kind : {"parameters", "sampling"}) ASSERT_EQ(json["sent_bytes"].erase(kind), 1u) << kind;
  const Row row = row_from_json(json, "here");
  EXPECT_FALSE(row.operation_seconds);
  EXPECT_FALSE(row.iterations);
  EXPECT_EQ(*row.sent_bytes, (SentBytes{200, 0, 0, 0, 0, 48, 0, 0, 248}));
  json["sent_bytes"].erase("total");
  EXPECT_THROW(row_from_json(json, "here"), InvalidInput);
}

/// The value of a column in the only record of a CSV text whose cells hold neither commas nor line ends.
std::string cell_of(const std::string& csv, const std::string& column) {
  const std::size_t end = csv.find("\r\n");
  std::istringstream names(csv.substr(0, end)), record(csv.substr(end + 2));
  for (std::string name, value; std::getline(names, name, ',') && std::getline(record, value, ',');)
    if (name == column) return value;
  return "no such column";
}

TEST(Csv, HasTheirColumns) {
  CaseResult result = make_result();
  result.metrics.clear();
  result.iterations_per_epoch = 4;
  result.cells_per_epoch = 60;
  for (EpochSample& sample : result.samples) sample.operations = {{"dense", 0.5}};
  Row row = summarise(case_json(), "a#1", result);
  for (Json* plugin : {&row.workload, &row.model, &row.strategy, &row.task, &row.optimizer}) *plugin = {{"name", "x"}};
  row.settings = Json::object();
  const std::string csv = rows_to_csv({row});
  EXPECT_EQ(cell_of(csv, "sent_bytes.parameters"), "0");
  EXPECT_EQ(cell_of(csv, "operation_seconds"), R"("{""dense"":0.5}")");
  EXPECT_EQ(cell_of(csv, "iterations"), "4");
  EXPECT_EQ(std::stod(cell_of(csv, "throughput.edges_per_second")), 1000 / 1.0015);
  EXPECT_EQ(std::stod(cell_of(csv, "throughput.cells_per_second")), 60 / 1.0015);
  for (const char* unit : {"events", "nonzeros"})
    EXPECT_EQ(cell_of(csv, "throughput." + std::string(unit) + "_per_second"), "") << unit;
}

TEST(Csv, HoldsNoFormulas) {
  Row row = summarise(case_json(), "=a#1", make_result());
  row.workload = {{"name", "=cmd|' -C calc'!A1.csv"}};
  row.reason = "+1";
  const std::string csv = rows_to_csv({row});
  EXPECT_EQ(cell_of(csv, "case_id"), "'=a#1");
  EXPECT_EQ(cell_of(csv, "workload"), "'=cmd|' -C calc'!A1.csv");
  EXPECT_EQ(cell_of(csv, "reason"), "+1") << "a number";
}

TEST(Summary, PhaseHostIsCalledSampleInVersionOne) {
  const testing_results::TemporaryFolder folder;
  Row row = summarise(case_json(), "a#1", make_result());
  ASSERT_TRUE(row.phase_seconds);
  (*row.phase_seconds)[Phase::host] = 0.125;
  Json json = summary_to_json({"hash", {row}});
  json["schema_version"] = "1.10.0";
  Json& phases = json["rows"][0]["phase_seconds"];
  phases["sample"] = phases.at("host");
  phases.erase("host");
  json["rows"][0] = with_digest(json["rows"][0]);
  testing_results::write_text(folder.file("old"), json.dump());
  const Row read = read_summary(folder.file("old")).rows.at(0);
  EXPECT_EQ((*read.phase_seconds)[Phase::host], 0.125);
  const auto table_of = [&](const std::string& column) {
    TableOptions options;
    options.columns = {column};
    return rows_table({read}, options);
  };
  EXPECT_EQ(table_of("sample"), table_of("host"));
}

}  // namespace
}  // namespace strobe
