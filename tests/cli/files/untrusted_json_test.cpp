// JSON files may hold anything when they are read back. Each wrong one is refused with status 2, its name, and a
// message of Strobe's own.
#include <sys/stat.h>

#include "tests/cli/support/edited_json.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class UntrustedJson : public Program {
 protected:
  /// Makes a finished run `out` of one case, and the files that continue it.
  void SetUp() override {
    ASSERT_EQ(strobe(run_).status, 0);
    resume_ = run_;
    resume_.push_back("--resume");
  }

  /// Sets `value` at `pointer` in a file of the run, runs `words`, and restores the file.
  Outcome with(const std::string& file, const std::string& pointer, const Json& value,
               const std::vector<std::string>& words) {
    const std::filesystem::path path = folder_ / "out" / file;
    const std::string before = read_text(path);
    const bool lines = file == "samples.jsonl";
    const std::size_t end = before.find('\n');
    Json json = Json::parse(lines ? before.substr(0, end) : before);
    json = without_digests(std::move(json));  // a wrong digest would be refused before the value is read
    json[Json::json_pointer(pointer)] = value;
    write_text(path, lines ? json.dump() + before.substr(end) : json.dump());
    const Outcome outcome = strobe(words);
    write_text(path, before);
    return outcome;
  }

  static void expect_named(const Outcome& outcome, const std::string& file) {
    expect_refusal(outcome, 2, {file});
    EXPECT_EQ(outcome.err.find("exception"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("substr"), std::string::npos) << outcome.err;
  }

  std::vector<std::string> run_ = {"run", "--workload", tiny, "--epochs", "1", "--out", "out"}, resume_;
};

TEST_F(UntrustedJson, OfAnotherTypeInARunDirectoryIsRefused) {
  const std::vector<Json> others = {Json::array(), "x", 3, nullptr, Json::object({{"a", Json::array({1})}}), true};
  const std::string text = read_text(folder_ / "out/summary.json");
  for (const auto& [file, pointer] : {std::pair{"plan.json", "/data"},
                                      {"plan.json", "/plan_hash"},
                                      {"plan.json", "/cases"},
                                      {"env.json", "/resumed"},
                                      {"summary.json", "/plan_hash"},
                                      {"summary.json", "/rows/0/status"},
                                      {"summary.json", "/rows/0/workload"},
                                      {"summary.json", "/rows/0/notes"},
                                      {"summary.json", "/rows/0/absent"},
                                      {"summary.json", "/rows/0/case_id"},
                                      {"summary.json", "/rows/0/epoch_seconds"},
                                      {"samples.jsonl", "/case_id"}}) {
    const std::string where = pointer;
    for (const Json& value : others) {
      SCOPED_TRACE(std::string(file) + pointer + " = " + value.dump());
      const bool fits = (value.is_object() && (where == "/data" || where == "/rows/0/workload")) ||
                        (value.is_string() && where != "/data" &&
                         (where == "/plan_hash" || where == "/case_id" || where == "/rows/0/case_id")) ||
                        (value.is_array() && (where == "/resumed" || where == "/rows/0/notes")) ||
                        (value.is_null() && where == "/rows/0/epoch_seconds");
      const Outcome outcome = with(file, pointer, value, resume_);
      if (fits) {
        EXPECT_NE(outcome.status, 139);
        EXPECT_EQ(outcome.err.find("exception"), std::string::npos) << outcome.err;
        std::filesystem::remove_all(folder_ / "out");
        ASSERT_EQ(strobe(run_).status, 0);
      } else {
        expect_named(outcome, file);
      }
    }
  }
}

TEST_F(UntrustedJson, OfAnotherTypeIsRefusedByCompareToo) {
  const std::vector<std::string> compare = {"compare", "out", "out", "--allow-different-host"};
  ASSERT_EQ(strobe(compare).status, 0);
  expect_named(with("env.json", "/resumed", "x", compare), "env.json");
  expect_named(with("env.json", "/host_class", "x", compare), "env.json");
  expect_named(with("env.json", "/host_class/text", 3, compare), "env.json");
  expect_named(with("summary.json", "/rows/0/model", 3, compare), "summary.json");
  expect_named(with("summary.json", "/rows/0/status", "strange", compare), "strange");
  expect_named(with("samples.jsonl", "/epoch_seconds", "x", compare), "samples.jsonl:1");
  expect_named(with("samples.jsonl", "/phase_seconds", Json::array(), compare), "samples.jsonl:1");
}

TEST_F(UntrustedJson, WithoutAnEndOfNestingIsRefused) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  write_text(folder_ / "suite.json", "{\"cases\": " + deep + "}");
  expect_named(strobe({"run", "suite.json", "--dry-run"}), "suite.json: is nested more than 64 levels deep");
  write_text(folder_ / "suite.json", "{\"$comment\": " + deep + ", \"cases\": [{\"workload\": \"chess\"}]}");
  expect_named(strobe({"run", "suite.json", "--dry-run"}), "suite.json");
  expect_named(strobe({"run", "--workload", tiny, "--cluster", "./suite.json", "--device", "sim", "--dry-run"}),
               "suite.json");
  for (const std::string file : {"plan.json", "env.json", "summary.json", "samples.jsonl"}) {
    SCOPED_TRACE(file);
    const std::filesystem::path path = folder_ / "out" / file;
    const std::string before = read_text(path);
    write_text(path, "{\"a\": " + deep + "}\n");
    if (file != "env.json") expect_named(strobe(resume_), file);
    expect_named(strobe({"compare", "out", "out"}), file);
    write_text(path, before);
  }
  const std::string header = "{\"w\": " + deep + "}";
  std::string weights(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) weights[i] = static_cast<char>(header.size() >> (8 * i) & 255);
  write_text(folder_ / "w.safetensors", weights + header);
  expect_named(strobe({"run", "--workload", tiny, "--load-model", "w.safetensors"}), "w.safetensors");
}

TEST_F(UntrustedJson, HeadersOfWeightsOfAnotherTypeAreRefused) {
  for (const std::string header :
       {R"({"w": 3})", R"({"w": {"dtype": 3}})", R"({"w": {"dtype": "F32", "shape": "x", "data_offsets": [0, 4]}})",
        R"({"w": {"dtype": "F32", "shape": [1, 1]}})", R"({"__metadata__": [1]})", R"({"__metadata__": {"a": 1}})"}) {
    SCOPED_TRACE(header);
    std::string weights(8, '\0');
    weights[0] = static_cast<char>(header.size());
    write_text(folder_ / "w.safetensors", weights + header);
    expect_named(strobe({"run", "--workload", tiny, "--load-model", "w.safetensors"}), "w.safetensors");
  }
}

TEST_F(UntrustedJson, DevicesPipesAndFoldersAreRefused) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ / "dir");
  const std::string other = suite(R"({"cases": [{"workload": "chess"}]})");
  for (const std::string file : {"/dev/zero", "pipe", "dir"}) {
    SCOPED_TRACE(file);
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"run", file},
                                               {"run", file, "--dry-run"},
                                               {"compare", file, "out"},
                                               {"compare", "out", file},
                                               {"validate", other, "--cluster", "p5-h100", "--measured", file},
                                               {"run", "--workload", tiny, "--device", "sim", "--cluster",
                                                file == "pipe" || file == "dir" ? "./" + file : file},
                                               {"run", "--workload", "ucsocial", "--set", "workload.features=" + file},
                                               {"inspect", "ucsocial", "--features", file}}) {
      SCOPED_TRACE(words.front() + " " + words[1]);
      expect_refusal(strobe(words), 2, {file});
    }
  }
  for (const std::string file : {"plan.json", "summary.json", "samples.jsonl", "env.json"}) {
    SCOPED_TRACE(file);
    const std::filesystem::path place = folder_ / "out" / file;
    const std::string before = read_text(place);
    std::filesystem::remove(place);
    ASSERT_EQ(mkfifo(place.c_str(), 0600), 0);
    expect_refusal(strobe(resume_), 2, {file, "is not a regular file"});
    std::filesystem::remove(place);
    write_text(place, before);
  }
}

}  // namespace
}  // namespace strobe::cli_test
