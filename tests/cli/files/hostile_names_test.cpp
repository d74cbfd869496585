// Names that are no valid text, or that move a terminal's cursor: Strobe refuses them or shows them escaped.
#include <algorithm>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

std::string few_events() {
  std::string text = "source,target,time\n";
  for (int i = 0; i < 400; ++i)
    text += std::to_string(i % 13) + "," + std::to_string((i * 7 + 1) % 17) + "," + std::to_string(i) + "\n";
  return text;
}

class HostileNames : public Program {
 protected:
  /// Fails when the text has bytes that control a terminal.
  static void expect_plain(const std::string& text) {
    const auto control = [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return (byte < 0x20 && c != '\n') || byte == 0x7f;
    };
    EXPECT_EQ(std::count_if(text.begin(), text.end(), control), 0) << text;
  }
};

TEST_F(HostileNames, ThatAreNoUtf8AreRefusedByTheirOption) {
  const std::string name = "caf\xe9.csv";
  write_text(folder_ / name, few_events());
  const std::vector<std::pair<std::string, std::vector<std::string>>> requests = {
      {"--workload", {"run", "--workload", name, "--out", "out"}},
      {"--workload", {"run", "--workload", tiny, "--workload", name, "--dry-run"}},
      {"--out", {"run", "--workload", tiny, "--out", "o\xe9"}},
      {"--checkpoint", {"run", "--workload", tiny, "--out", "out", "--checkpoint", "c\xe9"}},
      {"--set", {"run", "--workload", tiny, "--out", "out", "--set", "model.name=\xe9"}},
      {"--set", {"run", "--workload", tiny, "--out", "out", "--set=model.\xe9=1"}},
      {"--vary", {"run", "--workload", tiny, "--out", "out", "--vary", "model=\xe9"}},
      {"--cluster", {"run", "--workload", tiny, "--out", "out", "--cluster", "\xe9"}},
      {"--until", {"run", "--workload", tiny, "--out", "out", "--until", "\xe9"}},
      {"suite", {"run", "s\xe9.json", "--out", "out"}},
      {"W", {"inspect", name, "--json"}},
      {"W", {"inspect", name}},
      {"--features", {"inspect", "ucsocial", "--features", "\xe9.npy", "--json"}},
      {"--shape", {"inspect", "ucsocial", "--shape", "\xe9.json"}},
      {"BASE", {"compare", "b\xe9", "new"}},
      {"--clusters", {"plan", "--workload", tiny, "--clusters", "\xe9", "--json"}},
      {"--workload", {"plan", "--workload", name, "--clusters", "p5-h100"}},
  };
  for (const auto& [option, words] : requests) {
    SCOPED_TRACE(option + " of " + words.front());
    const Outcome outcome = strobe(words);
    expect_refusal(outcome, 2, {option + ": ", "is not UTF-8 text", "\\xe9"});
    EXPECT_EQ(outcome.err.find("exception"), std::string::npos);
    EXPECT_EQ(outcome.err.find('\xe9'), std::string::npos);
  }
  expect_refusal(strobe({"convert", name, "out.strobe"}), 2, {"is not UTF-8 text"});
  expect_refusal(strobe({"convert", "ucsocial", "o\xe9.strobe"}), 2, {"is not UTF-8 text"});
  for (const auto& words : std::vector<std::vector<std::string>>{{"list", "\xe9"}, {"l\xe9"}, {"env", "--\xe9"}})
    expect_refusal(strobe(words), 2, {"\\xe9"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 3) << "besides the file and two streams";
}

TEST_F(HostileNames, OfTheSurroundingsAreKeptEscaped) {
  const std::string strange = "STROBE_STRANGE=\"$(printf '\\351')\" ";
  const std::string run = std::string("run --workload ") + tiny + " --epochs 1 --warmup 0 --out out";
  const Outcome outcome =
      finish(start_shell("cd '" + folder_.string() + "' && mkdir \"$(printf 'd\\351')\" && cd d* && " + strange +
                         "'" STROBE_BINARY "' " + run + " && mv out .."));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(read_text(folder_ / "out/env.json").find("\"STROBE_STRANGE\": \"\\\\xe9\""), std::string::npos)
      << read_json(folder_ / "out/env.json").at("variables").dump();
}

TEST_F(HostileNames, WithControlCharactersAreShownEscaped) {
  const std::string name = "\x1b[31mred\nline\x7f.csv", out = "o\x1b[1m";
  write_text(folder_ / name, few_events());
  const Outcome inspected = strobe({"inspect", name});
  EXPECT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("\\x1b[31mred\\x0aline\\x7f.csv"), std::string::npos) << inspected.out;
  const Outcome run = strobe({"run", "--workload", name, "--epochs", "1", "--warmup", "0", "--out", out});
  const Outcome dry = strobe({"run", "--workload", name, "--epochs", "1", "--dry-run"});
  const Outcome unknown = strobe({"inspect", "x\x1b[31m"}), option = strobe({"run", "--\x1b[31m"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(dry.status, 0) << dry.err;
  for (const Outcome& outcome : {inspected, run, dry, unknown, option}) {
    expect_plain(outcome.out);
    expect_plain(outcome.err);
  }
  expect_refusal(unknown, 2, {"x\\x1b[31m"});
  const std::string log = read_text(folder_ / out / "logs/strobe.log");
  expect_plain(log);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_EQ(read_json(folder_ / out / "plan.json").at("cases")[0].at("workload").at("name"), name)
      << "files hold names";
}

TEST_F(HostileNames, AreWrittenIntoFiguresThatAreXml) {
  const std::string name = "\x1b[31mred\x7f.csv";
  write_text(folder_ / name, few_events());
  const Outcome drawn = strobe({"inspect", name, "--figure", "figure.svg"});
  if (drawn.status == 5) GTEST_SKIP() << drawn.err;
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  expect_plain(read_text(folder_ / "figure.svg"));
  const Outcome judged =
      finish(start({"python3", "-c", "import xml.dom.minidom; xml.dom.minidom.parse(\"figure.svg\")"}));
  EXPECT_EQ(judged.status, 0) << judged.err;
}

}  // namespace
}  // namespace strobe::cli_test
