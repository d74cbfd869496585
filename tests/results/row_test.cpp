#include "results/row/row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"
#include "results/row/statistics.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using testing_results::make_sample;

TEST(Summarise, ByHand) {
  CaseResult result = make_result();
  result.peak_flops_per_second = 4e9;
  result.peak_bytes_per_second = 6e8;
  result.dollars_per_second = 0.5;
  const Row row = summarise(case_json(), "chess/x#1", result);
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.strategy["name"], "snapshot");
  EXPECT_EQ(row.settings["epochs"], 2);
  ASSERT_TRUE(row.epoch_seconds);
  EXPECT_EQ(row.epoch_seconds->n, 2) << "the warm-up epoch is not counted";
  EXPECT_DOUBLE_EQ(row.epoch_seconds->median, 1.0015);
  EXPECT_DOUBLE_EQ(row.epoch_seconds->min, 1.001);
  EXPECT_DOUBLE_EQ(row.epoch_seconds->max, 1.002);
  EXPECT_DOUBLE_EQ(row.epoch_seconds->p95, 1.00195);
  EXPECT_TRUE(std::isnan(row.epoch_seconds->ci95_low));
  EXPECT_EQ(row.absent.count("/epoch_seconds/ci95_low"), 1u);
  ASSERT_TRUE(row.phase_seconds);
  EXPECT_DOUBLE_EQ((*row.phase_seconds)[0], 0.5);
  EXPECT_DOUBLE_EQ(std::accumulate(row.phase_seconds->begin(), row.phase_seconds->end(), 0.0), row.epoch_seconds->mean);
  ASSERT_TRUE(row.sent_bytes);
  EXPECT_EQ(*row.sent_bytes, (SentBytes{200, 0, 0, 0, 0, 48, 0, 0, 248}));
  EXPECT_EQ(*row.messages, 6u);
  EXPECT_EQ(*row.transfer_bytes, 14u);
  EXPECT_EQ(row.peak_bytes->host, (std::vector<std::uint64_t>{1002, 1012}));
  EXPECT_NEAR(row.imbalance->max_over_min, 0.8 / 0.7, 1e-12);
  EXPECT_NEAR(row.imbalance->max_over_mean, 0.8 / 0.75, 1e-12);
  EXPECT_DOUBLE_EQ(row.throughput.at("edges_per_second"), 1000 / 1.0015);
  EXPECT_DOUBLE_EQ(row.roofline->flops_fraction, 2e9 / 1.0015 / 4e9);
  EXPECT_DOUBLE_EQ(row.roofline->bandwidth_fraction, 6e8 / 1.0015 / 6e8);
  EXPECT_DOUBLE_EQ(row.dollars_per_epoch, 0.5 * 1.0015);
  EXPECT_EQ(row.loss->back(), 0.5);
  EXPECT_FALSE(row.metrics.at("auc"));
  EXPECT_EQ(row.absent.at("/metrics/auc"), "one class only");
  EXPECT_TRUE(row.notes.empty());
}

TEST(Summarise, EdgesAndNonZerosAreKeysOfTheirOwn) {
  CaseResult result = make_result();
  result.items_per_epoch = 30;
  result.nonzeros_per_epoch = 300030;
  const Row row = summarise(case_json(), "chess/x#1", result);
  EXPECT_DOUBLE_EQ(row.throughput.at("edges_per_second"), 30 / 1.0015);
  EXPECT_DOUBLE_EQ(row.throughput.at("nonzeros_per_second"), 300030 / 1.0015);
  EXPECT_EQ(summarise(case_json(), "chess/x#1", make_result()).throughput.count("nonzeros_per_second"), 0u);
}

TEST(Summarise, ACostHasItsCurrency) {
  CaseResult result = make_result();
  result.currency = "JPY";
  EXPECT_EQ(summarise(case_json(), "chess/x#1", result).currency, "") << "nothing is paid";
  result.dollars_per_second = 0.5;
  const Row row = summarise(case_json(), "chess/x#1", result);
  EXPECT_EQ(row.currency, "JPY");
  const Row back = row_from_json(row_to_json(row), "rows.json");
  EXPECT_EQ(back.currency, "JPY");
  Json older = row_to_json(row);
  older.erase("currency");
  EXPECT_EQ(row_from_json(older, "rows.json").currency, "");
}

TEST(Summarise, NoBandHasItsReason) {
  CaseResult result = make_result();
  result.time_source = "virtual";
  result.band_source = "nobody measured that";
  const Row row = summarise(case_json(), "chess/x#1", result);
  EXPECT_FALSE(row.epoch_seconds_band90);
  EXPECT_EQ(row.absent.at("/epoch_seconds_band90"), "nobody measured that");
}

TEST(Summarise, ACaseWhoseTimesAreNotKnownIsStillOk) {
  CaseResult result = make_result();
  result.samples.clear();
  EXPECT_EQ(summarise(case_json(), "id", result).status, "failed") << "nobody says why it has none";
  result.untimed = "they were lost";
  const Row row = summarise(case_json(), "id", result);
  EXPECT_EQ(row.status, "ok");
  EXPECT_FALSE(row.epoch_seconds);
  EXPECT_EQ(row.absent.at("/epoch_seconds"), "they were lost");
  EXPECT_EQ(row_to_json(row_from_json(row_to_json(row), "rows.json")), row_to_json(row));
}

TEST(Summarise, HowTrainingEndedEarly) {
  CaseResult result = make_result();
  Row row = summarise(case_json(), "id", result);
  for (const char* key : {"until_reached", "until_iterations", "until_seconds", "until_dollars"}) {
    EXPECT_TRUE(row_to_json(row).at(key).is_null()) << key;
    EXPECT_EQ(row.absent.at(std::string("/") + key), "the case has no until") << key;
  }
  Json asked = case_json();
  asked["until"] = "converged";
  result.until = UntilOutcome{true, 7, 12.5};
  result.dollars_per_second = 0.5;
  row = summarise(asked, "id", result);
  const Json json = row_to_json(row);
  EXPECT_EQ(json.at("until_reached"), true);
  EXPECT_EQ(json.at("until_iterations"), 7);
  EXPECT_EQ(json.at("until_seconds"), 12.5);
  EXPECT_NEAR(json.at("until_dollars").get<double>(), 6.25, 1e-12);
  EXPECT_EQ(json.at("settings").at("until"), "converged");
  EXPECT_EQ(row_to_json(row_from_json(json, "rows.json")), json);
  result.dollars_per_second = 0;
  row = summarise(asked, "id", result);
  EXPECT_EQ(row.absent.at("/until_dollars"), "no dated price");
  EXPECT_EQ(row.absent.count("/until_seconds"), 0u);
  result.until->seconds = std::nan("");  // epochs before a checkpoint
  const Json unknown = row_to_json(summarise(asked, "id", result));
  EXPECT_TRUE(unknown.at("until_seconds").is_null());
  EXPECT_EQ(row_to_json(row_from_json(unknown, "rows.json")), unknown) << "what is not known is not 0";
  result.until.reset();
  result.status = "failed";
  EXPECT_EQ(summarise(asked, "id", result).absent.at("/until_reached"), "the case ended as failed");
}

TEST(Summarise, TheSlowestRankOfEachEpochCounts) {
  CaseResult result;
  result.samples = {make_sample(0, 0, 0, 1, 0, 0), make_sample(0, 0, 1, 3, 1, 0), make_sample(0, 1, 0, 5, 0, 1),
                    make_sample(0, 1, 1, 2, 0, 0), make_sample(1, 0, 0, 2, 0, 0), make_sample(1, 0, 1, 1, 1, 0)};
  const Row row = summarise(case_json(), "c", result);
  EXPECT_EQ(row.epoch_seconds->n, 3) << "epochs of all repetitions";
  EXPECT_DOUBLE_EQ(row.epoch_seconds->max, 6);
  EXPECT_DOUBLE_EQ(row.epoch_seconds->median, 4);
  EXPECT_DOUBLE_EQ((*row.phase_seconds)[0], 10.0 / 3) << "of two equally slow ranks, the lower one's phases";
  const auto slowest = slowest_of_each_epoch(result.samples, 2);
  ASSERT_EQ(slowest.size(), 3u);
  EXPECT_EQ(slowest[0]->rank, 1);
  EXPECT_EQ(slowest[2]->rank, 0);
}

TEST(Summarise, OfRanksThatEndTogetherThePhasesAreThoseOfTheOneThatTheOthersWaitedFor) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const RandomStream random(seed, random_purpose::test);
    const int ranks = 2 + static_cast<int>(seed % 7);
    std::uint64_t draw = 0;
    CaseResult result;
    std::vector<double> most_work;  // by epoch
    for (int epoch = 0; epoch < 4; ++epoch) {
      std::vector<double> work;
      for (int r = 0; r < ranks; ++r) work.push_back(1 + 3 * random.uniform(draw++));
      most_work.push_back(*std::max_element(work.begin(), work.end()));
      for (int r = 0; r < ranks; ++r) {
        // All wait for the one with most work, exchange, and end as they happen to wake up.
        const double own = work[r], late = 0.04 * random.uniform(draw++);
        EpochSample sample = make_sample(0, epoch, r, own, 0.5, most_work.back() - own);
        sample.epoch_seconds += late;
        sample.busy_seconds += late;
        sample.phase_seconds[phase_count - 1] = late;
        result.samples.push_back(sample);
      }
    }
    Json asked = case_json();
    asked["ranks"] = ranks;
    const Row row = summarise(asked, "c", result);
    const auto& phases = *row.phase_seconds;
    EXPECT_NEAR(phases[Phase::compute], mean(most_work), 0.05) << "seed " << seed;
    EXPECT_LT(phases[Phase::wait], 0.09) << "seed " << seed;
    EXPECT_NEAR(std::accumulate(phases.begin(), phases.end(), 0.0), row.epoch_seconds->mean, 1e-12);
  }
}

TEST(Summarise, ARankThatEndsEarlierIsNotTheEpochs) {
  // Without a closing collective the slowest rank is the slowest, however much it waited before.
  CaseResult result;
  result.samples = {make_sample(0, 0, 0, 4, 1, 0), make_sample(0, 0, 1, 2, 1, 2.5)};
  const Row row = summarise(case_json(), "c", result);
  EXPECT_EQ((*row.phase_seconds)[Phase::compute], 2);
  EXPECT_EQ((*row.phase_seconds)[Phase::wait], 2.5);
}

TEST(Summarise, BytesThatChangeBetweenEpochsAreNoted) {
  CaseResult result = make_result();
  result.samples.back().sent_bytes[1] = 50;
  const Row row = summarise(case_json(), "c", result);
  EXPECT_EQ((*row.sent_bytes)[1], 50u);
  EXPECT_EQ((*row.sent_bytes)[traffic_count], 298u);
  ASSERT_EQ(row.notes.size(), 1u);
  EXPECT_NE(row.notes[0].find("differ between epochs"), std::string::npos);
}

/// Pointers of the nulls in `value`, outside /absent.
void find_nulls(const Json& value, const std::string& pointer, std::vector<std::string>& nulls) {
  if (value.is_null()) nulls.push_back(pointer);
  if (pointer == "/absent" || !value.is_structured()) return;
  for (const auto& [key, item] : value.items()) find_nulls(item, pointer + "/" + key, nulls);
}

TEST(Summarise, EveryNullHasAReason) {
  CaseResult failed;
  failed.status = "out_of_memory";
  failed.reason = "rank 1 is out of memory";
  CaseResult odd = make_result();
  odd.loss.per_epoch = {0.5, std::nan("")};
  for (EpochSample& sample : odd.samples) sample.busy_seconds = 0;
  for (const Row& row : {summarise(case_json(), "a", failed), summarise(case_json(), "b", odd)}) {
    std::vector<std::string> nulls;
    find_nulls(row_to_json(row), "", nulls);
    EXPECT_GE(nulls.size(), 6u) << row.case_id;
    for (const std::string& pointer : nulls) {
      ASSERT_EQ(row.absent.count(pointer), 1u) << row.case_id << " " << pointer;
      EXPECT_FALSE(row.absent.at(pointer).empty()) << row.case_id << " " << pointer;
    }
  }
  EXPECT_EQ(summarise(case_json(), "b", odd).absent.at("/loss/1"), "not a finite number");
}

TEST(Summarise, OkWithoutMeasuredEpochsIsAFailure) {
  CaseResult result = make_result();
  for (EpochSample& sample : result.samples) sample.warmup = true;
  EXPECT_EQ(summarise(case_json(), "c", result).status, "failed");
  result = make_result(1);
  result.samples.pop_back();  // rank 1 never ended the only measured epoch
  EXPECT_EQ(summarise(case_json(), "c", result).status, "failed");
}

TEST(Row, RoundTripIsExact) {
  CaseResult result = make_result(8);
  result.loss.per_epoch = {1.0 / 3, std::nan(""), 5e-324};
  result.exact = false;
  result.approximations = {"stale embeddings"};
  result.notes = {"uncalibrated", "quote \" comma , line\nbreak"};
  result.planned_bytes = {{"halo", 12}};
  CaseResult skipped;
  skipped.status = "skipped";
  for (const CaseResult& each : {result, make_result(), skipped}) {
    const Json first = row_to_json(summarise(case_json(), "c#1", each));
    const Json parsed = Json::parse(first.dump(2));
    EXPECT_EQ(row_to_json(row_from_json(parsed, "here")).dump(), first.dump());
  }
  const Row row = row_from_json(row_to_json(summarise(case_json(), "c#1", result)), "here");
  EXPECT_EQ((*row.loss)[0], 1.0 / 3);
  EXPECT_TRUE(std::isnan((*row.loss)[1]));
  EXPECT_EQ((*row.loss)[2], 5e-324);
  EXPECT_EQ(row.approximations, result.approximations);
  EXPECT_FALSE(std::isnan(row.epoch_seconds->ci95_low));
}

TEST(Row, ThreadsOfEachRankAreStatedOrAbsentWithAReason) {
  CaseResult result = make_result();
  result.threads = {8, 3};
  const Json stated = row_to_json(summarise(case_json(), "c", result));
  EXPECT_EQ(stated.at("threads_per_rank"), Json({8, 3}));
  EXPECT_EQ(row_from_json(stated, "here").threads, result.threads);
  result.threads.clear();
  result.time_source = "virtual";
  const Row predicted = summarise(case_json(), "c", result);
  EXPECT_TRUE(row_to_json(predicted).at("threads_per_rank").is_null());
  EXPECT_EQ(predicted.absent.at("/threads_per_rank"), "the time is virtual");
  Json earlier = stated;
  earlier.erase("threads_per_rank");
  EXPECT_TRUE(row_from_json(earlier, "here").threads.empty());
}

TEST(Row, SharesOfStaleExchangesAreStatedOrAbsentWithAReason) {
  CaseResult result = make_result();
  result.facts.values = {{"sent_share", {1, 0.25}}, {"sent_bytes_by_epoch", {800, 200}}};
  const Json stated = row_to_json(summarise(case_json(), "c", result));
  EXPECT_EQ(stated.at("sent_share"), Json({1, 0.25}));
  EXPECT_EQ(stated.at("sent_bytes_by_epoch"), Json({800, 200}));
  EXPECT_EQ(row_from_json(stated, "here").facts, result.facts.values);
  const Row exact = summarise(case_json(), "c", make_result());
  for (const char* key : {"sent_share", "sent_bytes_by_epoch"}) {
    EXPECT_TRUE(row_to_json(exact).at(key).is_null());
    EXPECT_EQ(exact.absent.at("/" + std::string(key)), "no exchange uses stale rows");
  }
  Json earlier = stated;
  for (const char* key : {"sent_share", "sent_bytes_by_epoch"}) earlier.erase(key);
  EXPECT_TRUE(row_from_json(earlier, "here").facts.empty());
}

TEST(Row, MissingKeysAndWrongTypesNameTheKey) {
  Json json = row_to_json(summarise(case_json(), "c", make_result()));
  json["ranks"] = "two";
  try {
    row_from_json(json, "summary.json");
    FAIL() << "a text was accepted as a number";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("'ranks'"), std::string::npos) << error.what();
  }
  json.erase("ranks");
  EXPECT_THROW(row_from_json(json, "summary.json"), InvalidInput);
}

TEST(RowFields, KeysAreUniqueAndExplained) {
  std::set<std::string> keys;
  for (const RowField& field : row_fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_GT(field.help.size(), 10u) << field.key;
    const std::string unit_word = field.unit == "s" ? "seconds" : field.unit == "bytes" ? "bytes" : "";
    EXPECT_NE(field.key.find(unit_word), std::string::npos) << field.key;
  }
  for (const char* key : {"case_id",        "status",        "reason",
                          "workload",       "model",         "strategy",
                          "task",           "device",        "comm",
                          "cluster",        "numerics",      "precision",
                          "ranks",          "seed",          "time_source",
                          "epoch_seconds",  "phase_seconds", "sent_bytes",
                          "transfer_bytes", "messages",      "peak_bytes",
                          "imbalance",      "loss",          "metrics",
                          "throughput",     "roofline",      "dollars_per_epoch",
                          "exact",          "notes",         "metric_samples"}) {
    EXPECT_EQ(keys.count(key), 1u) << key;
  }
}

/// The records of an RFC 4180 text.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, {""});
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      records.back().back() += text[++i];
    else if (c == '"')
      inside = !inside;
    else if (!inside && c == ',')
      records.back().emplace_back();
    else if (!inside && c == '\r' && text[i + 1] == '\n')
      records.push_back({""}), ++i;
    else
      records.back().back() += c;
  }
  records.pop_back();
  return records;
}

TEST(Csv, OneRecordPerRowWithFlatColumns) {
  CaseResult result = make_result();
  result.notes = {"says \"no\", twice", "line\r\nbreak"};
  const auto records =
      parse_csv(rows_to_csv({summarise(case_json(), "a#1", result), summarise(case_json(4), "b#2", CaseResult{})}));
  ASSERT_EQ(records.size(), 3u);
  const auto column = [&](const std::string& name) {
    const auto& header = records[0];
    const auto position = std::find(header.begin(), header.end(), name);
    EXPECT_NE(position, header.end()) << name;
    return static_cast<std::size_t>(position - header.begin());
  };
  for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
  EXPECT_EQ(records[1][column("case_id")], "a#1");
  EXPECT_EQ(records[1][column("workload")], "chess");
  EXPECT_EQ(records[1][column("workload_parameters")], R"({"window":"30d"})");
  EXPECT_EQ(std::stod(records[1][column("epoch_seconds.median")]), 1.0015);
  EXPECT_EQ(records[1][column("sent_bytes.total")], "248");
  EXPECT_EQ(records[1][column("peak_bytes.host")], "1002;1012");
  EXPECT_EQ(records[1][column("notes")], "says \"no\", twice;line\r\nbreak");
  EXPECT_EQ(records[2][column("epoch_seconds.median")], "");
  EXPECT_EQ(records[2][column("ranks")], "4");
}

TEST(Summary, OtherMajorVersionAndForeignFilesAreRefused) {
  const testing_results::TemporaryFolder folder;
  Json json = summary_to_json({"hash", {summarise(case_json(), "a#1", make_result())}});
  testing_results::write_text(folder.file("good"), json.dump());
  EXPECT_EQ(read_summary(folder.file("good")).rows.size(), 1u);
  json["schema_version"] = "2.7.0";
  json["rows"][0]["a_key_of_a_newer_minor_version"] = 1;
  json["rows"][0] = with_digest(json["rows"][0]);
  testing_results::write_text(folder.file("minor"), json.dump());
  EXPECT_EQ(read_summary(folder.file("minor")).rows[0].case_id, "a#1");
  json["schema_version"] = "3.0.0";
  testing_results::write_text(folder.file("major"), json.dump());
  EXPECT_THROW(read_summary(folder.file("major")), InvalidInput);
  testing_results::write_text(folder.file("foreign"), "[1, 2");
  EXPECT_THROW(read_summary(folder.file("foreign")), InvalidInput);
  EXPECT_THROW(read_summary(folder.file("not there")), SystemError);
}

}  // namespace
}  // namespace strobe
