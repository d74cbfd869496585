// A checkpoint with any damaged bit is refused, so that training never goes on with other numbers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/files/model_files.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

constexpr int trials = 240;

constexpr const char* events_file = "events.csv";  // in the test's own folder

/// A kind of training, by a case of it.
struct Kind {
  const char* name;
  Json request;
};

Json small_graph(const char* model, const char* strategy) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 9}, {"density", 3}}},
          {"model", {{"name", model}}},
          {"strategy", {{"name", strategy}}},
          {"ranks", 2},
          {"epochs", 2},
          {"warmup", 0}};
}

std::vector<Kind> kinds() {
  Json events = small_graph("jodie", "event_batch");
  events["workload"] = events_file;
  events["strategy"]["batch"] = 50;
  events["task"] = {{"name", "future-links"}};
  events["ranks"] = 1;
  return {{"full_batch", small_graph("tm-gcn", "snapshot")},
          {"chunks", small_graph("mpnn-lstm", "chunk")},
          {"hybrid_batches", small_graph("tm-gcn", "hybrid_batch")},
          {"event_batches", events}};
}

class DamagedCheckpoint : public testing::TestWithParam<Kind> {
 protected:
  DamagedCheckpoint() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-damaged-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    folder_ = pattern;
    write_events();
    c_ = case_of(GetParam().request);
    ModelOutputs outputs;
    outputs.checkpoint = path("state");
    const CaseResult result = run_case(c_, nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
    parameters_ = make_plan(c_)->schedule->summary().parameters;
    whole_ = read_text_file(path("state"));
  }
  ~DamagedCheckpoint() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void write_events() const {
    std::mt19937 random(3);
    std::ofstream file(path(events_file));
    file << "source,target,time\n";
    for (int i = 0; i < 400; ++i) file << random() % 30 << ',' << 30 + random() % 30 << ',' << 10 * i << '\n';
  }
  Case case_of(Json request) const {
    if (request["workload"] == events_file) request["workload"] = path(events_file);
    return case_from_json(request, "");
  }

  /// Whether a file of this content is refused with its name and a message of Strobe's own.
  bool is_refused(const std::string& content) const {
    std::ofstream(path("bad"), std::ios::binary) << content;
    try {
      load_checkpoint(path("bad"), c_, parameters_);
    } catch (const InvalidInput& error) {
      return std::string(error.what()).find(path("bad")) != std::string::npos;
    } catch (const InvalidRequest& error) {
      return std::string(error.what()).find(path("bad")) != std::string::npos;
    }
    return false;
  }

  std::filesystem::path folder_;
  Case c_;
  std::vector<ParameterShape> parameters_;
  std::string whole_;
};

TEST_P(DamagedCheckpoint, IsRefusedWhicheverBitWasFlippedAndWhereverItWasCut) {
  std::ofstream(path("good"), std::ios::binary) << whole_;
  EXPECT_NO_THROW(load_checkpoint(path("good"), c_, parameters_));
  const std::size_t header = 8 + *reinterpret_cast<const std::uint64_t*>(whole_.data());
  const std::size_t key = whole_.find("strobe_sha256");
  std::mt19937 random(11);
  for (int trial = 0; trial < trials; ++trial) {
    std::string damaged = whole_;
    // Half of the damaged bytes are in the header, although it is the smaller part.
    std::size_t at = trial % 2 == 0 ? random() % header : random() % whole_.size();
    if (trial % 5 == 0)
      damaged.resize(at);
    else
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    if (at >= key && at < key + 13 && trial % 5 != 0) continue;  // without its digest, the file has the same numbers
    EXPECT_TRUE(is_refused(damaged)) << "byte " << at << " of " << whole_.size() << ", trial " << trial;
  }
  EXPECT_TRUE(is_refused(whole_ + std::string(4, '\0')));
}

TEST_P(DamagedCheckpoint, IsRefusedWithATensorOfAnotherFile) {
  Json other = GetParam().request;
  other["seed"] = 5;
  ModelOutputs outputs;
  outputs.checkpoint = path("other");
  ASSERT_EQ(run_case(case_of(other), nullptr, outputs).status, "ok");
  const std::string theirs = read_text_file(path("other"));
  const auto data = [](const std::string& file) {
    return 8 + static_cast<std::size_t>(*reinterpret_cast<const std::uint64_t*>(file.data()));
  };
  ASSERT_EQ(whole_.size() - data(whole_), theirs.size() - data(theirs));
  EXPECT_TRUE(is_refused(whole_.substr(0, data(whole_)) + theirs.substr(data(theirs))));
}

/// Checkpoints of older revisions have no digest, and are read.
TEST_P(DamagedCheckpoint, OfAnOlderRevisionIsRead) {
  const std::size_t begin = whole_.find(",\"strobe_sha256\":\""), length = 18 + 64 + 1;
  ASSERT_NE(begin, std::string::npos);
  std::string older = whole_;
  older.erase(begin, length)
      .insert(8 + *reinterpret_cast<const std::uint64_t*>(whole_.data()) - length, std::string(length, ' '));
  std::ofstream(path("older"), std::ios::binary) << older;
  EXPECT_EQ(load_checkpoint(path("older"), c_, parameters_).weights,
            load_checkpoint(path("state"), c_, parameters_).weights);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedCheckpoint, testing::ValuesIn(kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace strobe
