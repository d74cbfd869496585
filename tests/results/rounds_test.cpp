// Rows and run directories of several processes, and what the machine did meanwhile.
#include "results/row/rounds.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/errors.hpp"
#include "results/row/sample_lines.hpp"
#include "results/run/run_directory.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using testing_results::TemporaryFolder;
using testing_results::text_of;
using testing_results::write_text;

struct Round {
  RoundRecord record;
  std::vector<EpochSample> samples;
};

Round make_round(int number, double seconds, const std::string& status = "ok", int repeat = 1) {
  CaseResult result = make_result(6, seconds);
  for (int repetition = 1; repetition < repeat; ++repetition) {
    for (EpochSample sample : make_result(6, seconds).samples) {
      sample.repetition = repetition;
      result.samples.push_back(sample);
    }
  }
  result.status = status;
  result.reason = status == "ok" ? "" : "planted";
  result.peak_flops_per_second = 1e12, result.peak_bytes_per_second = 1e11;
  result.dollars_per_second = 0.01, result.currency = "USD";
  result.cells_per_epoch = 77, result.nonzeros_per_epoch = 1234;
  result.threads = {1, 1};
  result.load_seconds = 10 * seconds;
  Json json = case_json();
  json["repeat"] = repeat;
  Round round{{"x", number, "s", {}, summarise(json, "x", result)}, result.samples};
  number_repetitions(round.samples, number, repeat);
  return round;
}

Json comparable(Row row) {
  row.rounds.reset();
  row.machine.reset();
  row.absent.clear();
  return row_to_json(row);
}

/// Numbers that went through a division and back.
void expect_near(const Json& a, const Json& b, const std::string& at) {
  if (a.is_number_float() && b.is_number()) {
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-12 * std::abs(b.get<double>())) << at;
  } else if (a.is_structured() && b.is_structured() && a.size() == b.size()) {
    const Json flat_a = a.flatten(), flat_b = b.flatten();
    for (const auto& [key, value] : flat_a.items()) {
      if (value.is_structured() || value.is_null()) continue;
      expect_near(value, flat_b.value(key, Json()), at + key);
    }
  } else {
    EXPECT_EQ(a, b) << at;
  }
}

TEST(RoundsOfACase, OneRoundIsTheRowOfItsProcess) {
  for (const int repeat : {1, 3}) {
    const Round round = make_round(0, 1.0, "ok", repeat);
    expect_near(comparable(row_of_rounds({round.record}, round.samples, 1)), comparable(round.record.row), "");
  }
}

TEST(RoundsOfACase, ARowHasTheTimesOfAllAndTheSpreadBetweenThem) {
  std::vector<RoundRecord> records;
  std::vector<EpochSample> samples;
  const std::vector<double> speeds{1.0, 1.5, 1.0, 1.6, 1.1};
  for (int i = 0; i < 5; ++i) {
    const Round round = make_round(i, speeds[i], "ok", 2);
    records.push_back(round.record);
    samples.insert(samples.end(), round.samples.begin(), round.samples.end());
  }
  const Row row = row_of_rounds(records, samples, 5);
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.epoch_seconds->n, 5 * 2 * 6);
  ASSERT_TRUE(row.rounds);
  ASSERT_EQ(row.rounds->seconds.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(row.rounds->seconds[i], speeds[i] + 0.0035, 1e-9);
  EXPECT_LT(row.epoch_seconds->ci95_low, 0.9 * row.epoch_seconds->median);
  EXPECT_GT(row.epoch_seconds->ci95_high, 1.1 * row.epoch_seconds->median) << "not the interval of epochs";
  EXPECT_NEAR(row.throughput.at("cells_per_second"), 77 / row.epoch_seconds->median, 1e-9);
  EXPECT_DOUBLE_EQ(row.load_seconds, 11) << "the median of five processes";
  EXPECT_NEAR(row.dollars_per_epoch, 0.01 * row.epoch_seconds->mean, 1e-12);
  EXPECT_NEAR(row.roofline->flops_fraction, 2e9 / row.epoch_seconds->mean / 1e12, 1e-12);
  EXPECT_EQ(row_to_json(row_from_json(row_to_json(row), "row")), row_to_json(row));
}

TEST(RoundsOfACase, MissingAndFailedRoundsAreSaid) {
  const Round first = make_round(0, 1.0), failed = make_round(1, 1.0, "out_of_memory");
  const Row some = row_of_rounds({first.record}, first.samples, 5);
  EXPECT_EQ(some.status, "interrupted");
  EXPECT_EQ(some.reason, "1 of 5 rounds were run");
  const Row broken = row_of_rounds({first.record, failed.record}, first.samples, 5);
  EXPECT_EQ(broken.status, "out_of_memory");
  EXPECT_EQ(broken.reason, "round 2: planted");
}

TEST(RoundsOfACase, ADirectoryGoesOnInTheMiddle) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  const Json cases = Json::array({case_json()});
  const Round first = make_round(0, 1.0), second = make_round(1, 1.2), third = make_round(2, 1.1);
  {
    RunDirectory run(path, cases, Json::object(), false);
    run.append_round(first.record, first.samples);
    run.add_row(row_of_rounds({first.record}, first.samples, 3));
    run.append_round(second.record, second.samples);  // killed before its row
  }
  // A third round died after its samples, before its line.
  write_text(
      path + "/samples.jsonl", text_of(path + "/samples.jsonl") + [&] {
        std::string lines;
        for (const EpochSample& sample : third.samples) {
          Json json{{"case_id", "x"}, {"round", 2}};
          json.update(sample_to_json("x", sample));
          lines += json.dump() + "\n";
        }
        return lines;
      }());
  RunDirectory run(path, cases, Json::object(), true);
  EXPECT_FALSE(run.finished("x"));
  const std::vector<RoundRecord> left = run.left_rounds("x");
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(row_to_json(left[1].row), row_to_json(second.record.row));
  std::vector<EpochSample> samples = run.left_samples("x");
  EXPECT_EQ(samples.size(), first.samples.size() + second.samples.size());
  EXPECT_EQ(read_samples(path + "/samples.jsonl").at("x").size(), samples.size());
  run.append_round(third.record, third.samples);
  samples.insert(samples.end(), third.samples.begin(), third.samples.end());
  run.add_row(row_of_rounds({left[0], left[1], third.record}, samples, 3));
  const Row row = read_summary(path + "/summary.json").rows.at(0);
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.rounds->seconds.size(), 3u);
  EXPECT_EQ(read_rounds(path + "/rounds.jsonl").at("x").size(), 3u);
}

TEST(RoundsOfACase, RetryingDropsTheRoundsOfAFailure) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  const Round first = make_round(0, 1.0), failed = make_round(1, 1.0, "failed");
  for (const bool retry : {false, true}) {
    {
      RunDirectory run(path, Json::array(), Json::object(), retry);
      if (!retry) {
        run.append_round(first.record, first.samples);
        run.append_round(failed.record, {});
        run.add_row(row_of_rounds({first.record, failed.record}, first.samples, 2));
      }
    }
    const RunDirectory again(path, Json::array(), Json::object(), true, Json::object(), retry);
    EXPECT_EQ(again.finished("x"), !retry);
    EXPECT_EQ(read_rounds(path + "/rounds.jsonl").size(), retry ? 0u : 1u);
  }
}

TEST(RoundsOfACase, AMalformedLineIsNamed) {
  const TemporaryFolder folder;
  write_text(folder.file("rounds.jsonl"), "{\"case_id\": \"x\"}\n");
  try {
    read_rounds(folder.file("rounds.jsonl"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("rounds.jsonl:1"), std::string::npos) << error.what();
  }
  write_text(folder.file("rounds.jsonl"), "{\"case_id\": cut");
  EXPECT_TRUE(read_rounds(folder.file("rounds.jsonl")).empty());
}

/// A machine of two cores, described by files: ticks of 1/100 s.
class FakeMachine {
 public:
  explicit FakeMachine(const TemporaryFolder& folder) : root_(folder.file("machine")) {
    for (const char* name :
         {"/proc/self", "/sys/devices/system/cpu/cpu0/cpufreq", "/sys/devices/system/cpu/cpu1/cpufreq"})
      std::filesystem::create_directories(root_ + name);
    tell();
  }
  /// Time advances by `ticks` a core. This program and others use some of them and a hypervisor takes some.
  void pass(long ticks, long own, long others, long stolen) {
    own_ += own, user_ += own + others, stolen_ += stolen, idle_ += 2 * ticks - own - others - stolen;
    tell();
  }
  void tell() const {
    write_text(root_ + "/proc/stat", "cpu  " + std::to_string(user_) + " 0 0 " + std::to_string(idle_) + " 0 0 0 " +
                                         std::to_string(stolen_) + " 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n");
    write_text(root_ + "/proc/loadavg", std::to_string(load) + " 1.00 1.00 1/100 1\n");
    write_text(root_ + "/proc/self/stat", "1 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 " + std::to_string(own_) + " 0 0 0 20\n");
    for (const char* core : {"cpu0", "cpu1"})
      write_text(root_ + "/sys/devices/system/cpu/" + core + "/cpufreq/scaling_cur_freq", std::to_string(kilohertz));
  }
  const std::string& root() const { return root_; }
  double load = 0.5;
  long kilohertz = 3000000;

 private:
  std::string root_;
  long user_ = 1000, idle_ = 5000, stolen_ = 10, own_ = 200;
};

TEST(MachineReadings, WorkOfOthersIsBusyTimeWithoutOurs) {
  const TemporaryFolder folder;
  FakeMachine machine(folder);
  MachineWatch watch(machine.root());
  machine.pass(100, 100, 50, 10);
  const MachineState state = watch.look();
  EXPECT_NEAR(state.other_cores.high, 0.5, 1e-9) << "half a second of one core in a second";
  EXPECT_NEAR(state.stolen_share.high, 0.05, 1e-9) << "a tenth of a second of two";
  EXPECT_EQ(state.load.low, 0.5);
  EXPECT_EQ(state.megahertz.low, 3000);
  machine.pass(5, 5, 5, 0);
  EXPECT_NEAR(watch.look().other_cores.high, 0.5, 1e-9) << "too short to tell: as before";
  machine.pass(95, 95, 0, 0);
  EXPECT_NEAR(watch.look().other_cores.high, 0.05, 1e-9) << "what was too short counts to the next";
}

TEST(MachineReadings, ChangesAreSaidAndNothingElse) {
  const TemporaryFolder folder;
  FakeMachine machine(folder);
  MachineWatch watch(machine.root());
  MachineState calm;
  for (int i = 0; i < 3; ++i) {
    machine.pass(100, 150, 2, 0);
    calm.add(watch.look());
  }
  EXPECT_TRUE(machine_notes(calm, "rounds").empty());
  EXPECT_EQ(machine_difference(calm, calm), "");
  const auto notes_after = [&](double load, long kilohertz, long others, long stolen) {
    machine.load = load, machine.kilohertz = kilohertz;
    machine.pass(100, 10, others, stolen);
    MachineState state = calm;
    const MachineState now = watch.look();
    state.add(now);
    std::string all = machine_difference(calm, now) + "|";
    for (const std::string& note : machine_notes(state, "rounds")) all += note + "|";
    return all;
  };
  const std::string busy = notes_after(7.5, 3000000, 120, 0);
  for (const char* words : {"other programs kept 0.02 to 1.2 cores busy", "changed between rounds: load 0.5 to 7.5",
                            "0.02 in base and 1.2 in new"})
    EXPECT_NE(busy.find(words), std::string::npos) << busy;
  EXPECT_NE(notes_after(0.5, 3000000, 2, 24).find("a hypervisor took 0 to 12 %"), std::string::npos)
      << notes_after(0.5, 3000000, 2, 24);
  const std::string slow = notes_after(0.5, 2000000, 2, 0);
  EXPECT_NE(slow.find("its clock ran at 2000 to 3000 MHz"), std::string::npos) << slow;
}

TEST(MachineReadings, SharesOfTimeAreThoseBetweenTwoReadings) {
  const MachineReading before{2, 1, 100, 50, 1, 10, 3000};
  const MachineState state = state_between(before, {2, 4, 102, 51.5, 1.1, 11, 2000});
  EXPECT_DOUBLE_EQ(state.other_cores.low, 0.5) << "1.5 s of work in one second, 1 s of it ours";
  EXPECT_NEAR(state.stolen_share.low, 0.05, 1e-12) << "0.1 s of two cores' second";
  EXPECT_EQ(state.load.low, 4);
  EXPECT_EQ(state.megahertz.low, 2000);
  const MachineState shortly = state_between(before, {2, 4, 100.3, 50.1, 1, 10, 2000});
  EXPECT_TRUE(std::isnan(shortly.other_cores.low)) << "0.15 s are too short";
  EXPECT_EQ(shortly.load.low, 4);
}

TEST(MachineReadings, DifferencesNameBothSides) {
  const MachineState base{{1, 1}, {0.5, 0.5}, {0, 0}, {3000, 3000}};
  EXPECT_EQ(machine_difference(base, {{2, 3}, {0.7, 0.7}, {0.01, 0.01}, {2900, 2900}}), "") << "too little to matter";
  EXPECT_EQ(machine_difference(base, {{3, 3.5}, {0.5, 0.5}, {0.02, 0.03}, {2000, 2100}}),
            "load 1 in base and 3 to 3.5 in new; steal 0 % in base and 2 to 3 % in new; clock 3000 MHz in base and "
            "2000 to 2100 MHz in new");
  EXPECT_EQ(machine_difference(base, {{3, 3.5}, {1, 1}, {0, 0}, {3200, 3200}}),
            "cores that other programs kept busy: 0.5 in base and 1 in new; clock 3000 MHz in base and 3200 MHz in new")
      << "the load says nothing that the cores do not";
}

TEST(MachineReadings, AMachineWithoutReadingsHasNulls) {
  const TemporaryFolder folder;
  MachineWatch watch(folder.file("nothing"));
  const MachineState state = watch.look();
  EXPECT_EQ(machine_to_json(state),
            (Json{{"load", nullptr}, {"other_cores", nullptr}, {"stolen_share", nullptr}, {"megahertz", nullptr}}));
  EXPECT_TRUE(machine_notes(state, "rounds").empty());
  Row row = make_round(0, 1.0).record.row;
  note_machine(row, state, "samples");
  EXPECT_EQ(row.absent.count("/machine"), 0u);
  EXPECT_EQ(row.absent.count("/machine/load"), 1u);
}

TEST(MachineReadings, ThisMachineReportsItsTime) {
  const MachineReading reading = read_machine();
  EXPECT_GT(reading.cores, 0);
  EXPECT_GT(reading.all_seconds, 0);
  EXPECT_GE(reading.own_seconds, 0);
  EXPECT_GE(reading.load, 0);
}

}  // namespace
}  // namespace strobe
