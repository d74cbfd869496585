// Outputs that are no plain files: devices, pipes, links and the standard output.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <future>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class OutputTargets : public Program {
 protected:
  Outcome run(const std::string& flag, const std::string& file) {
    fs::remove_all(folder_ / "out");
    return strobe({"run", "--workload", tiny, "--epochs", "1", "--out", "out", flag, file});
  }
  /// Makes a character device like /dev/null in the folder; false without the permission to do so.
  bool make_null(const std::string& name) { return mknod(path(name).c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0; }

  const std::vector<std::string> flags = {"--save-model", "--dump-embeddings", "--dump-samples"};
};

TEST_F(OutputTargets, DevicesAreWrittenAsTheyAre) {
  if (!make_null("null")) GTEST_SKIP() << "only root can make a device to write to";
  ASSERT_TRUE(make_null("null.csv") && make_null("null.strobe"));
  for (const std::string& flag : flags) {
    const Outcome outcome = run(flag, "null");
    EXPECT_EQ(outcome.status, 0) << flag << outcome.err;
  }
  write_text(folder_ / "e.csv", "source,target,time\n0,1,1\n1,0,2\n");
  for (const char* file : {"null.csv", "null.strobe"}) {
    const Outcome outcome = strobe({"convert", "e.csv", file});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
  EXPECT_EQ(strobe({"inspect", "chess", "--shape", "null"}).status, 0);
  for (const char* file : {"null", "null.csv", "null.strobe"})
    EXPECT_TRUE(fs::is_character_file(folder_ / file)) << file;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path().string().find(".seal"), std::string::npos) << entry;
}

TEST_F(OutputTargets, TheNullDeviceNeedsNoRightInItsFolder) {
  const Outcome outcome = run("--save-model", "/dev/null");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputTargets, WhatIsWrittenMoreThanOnceTakesNoPipeAndNoDevice) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* file : {"pipe", "/dev/null", "/dev/stdout"}) {
    expect_refusal(run("--checkpoint", file), 2, {"--checkpoint", file});
    expect_refusal(strobe({"calibrate", "--quick", "--samples", file}), 2, {"--samples", file});
  }
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(OutputTargets, PipesGetTheBytes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& flag : flags) {
    expect_refusal(run(flag, "pipe"), 2, {flag, "no program reads this pipe"});
    const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    auto text = std::async(std::launch::async, [reader] {
      std::string received;
      std::array<char, 4096> part{};
      for (ssize_t got = -1; got != 0; got = read(reader, part.data(), part.size())) {
        if (got > 0) received.append(part.data(), static_cast<std::size_t>(got));
        pollfd wanted{reader, POLLIN, 0};
        poll(&wanted, 1, -1);
      }
      return received;
    });
    EXPECT_EQ(run(flag, "pipe").status, 0) << flag;
    const std::string through = text.get();
    close(reader);
    EXPECT_EQ(run(flag, "file").status, 0);
    EXPECT_EQ(through, read_text(folder_ / "file")) << flag;
    EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
  }
}

TEST_F(OutputTargets, LinksStayAndTheirEndsAreReplaced) {
  fs::create_directory(folder_ / "real");
  for (const std::string& flag : {flags[0], flags[1], flags[2], std::string("--checkpoint")}) {
    const bool fresh = flag == "--checkpoint";  // a checkpoint never replaces another file
    fs::remove(folder_ / "real/file");
    if (!fresh) write_text(folder_ / "real/file", "old");
    fs::remove(folder_ / "link");
    fs::create_symlink("real/file", folder_ / "link");
    const Outcome outcome = run(flag, "link");
    EXPECT_EQ(outcome.status, 0) << flag << outcome.err;
    EXPECT_TRUE(fs::is_symlink(folder_ / "link")) << flag;
    EXPECT_GT(fs::file_size(folder_ / "real/file"), 100u) << flag;
  }
  fs::create_symlink("circle", folder_ / "circle");
  expect_refusal(run("--save-model", "circle"), 2, {"--save-model", "circle", "symbolic links"});
  fs::create_symlink("no/such/file", folder_ / "lost");
  expect_refusal(run("--save-model", "lost"), 2, {"--save-model", "lost"});
}

TEST_F(OutputTargets, TheStandardOutputIsPrintedOn) {
  for (const std::string& redirect : {std::string("> printed"), std::string("| cat > printed")}) {
    fs::remove_all(folder_ / "out");
    const Outcome outcome = finish(start_shell("cd '" + folder_.string() + "' && '" STROBE_BINARY "' run --workload " +
                                               tiny + " --epochs 1 --out out --dump-samples /dev/stdout " + redirect));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::string text = read_text(folder_ / "printed");
    EXPECT_EQ(text.find("split,step,source,target,label"), 0u) << text.substr(0, 200);
    EXPECT_NE(text.find("uniform/tm-gcn"), std::string::npos)
        << "the table of results follows: " << text.substr(text.size() - 200);
  }
}

TEST_F(OutputTargets, ConvertingTwiceGivesEqualFiles) {
  std::string text = "source,target,time,weight\n";
  for (int i = 0; i < 40; ++i) text += "name " + std::to_string(i * i % 17) + ",b," + std::to_string(i) + ",2\n";
  write_text(folder_ / "e.csv", text);
  const std::string generated = "uniform:vertices=20,steps=5,density=2";
  for (const std::string& in : {std::string("e.csv"), std::string("e.csv:window=8s"), generated}) {
    ASSERT_EQ(strobe({"convert", in, "a.strobe", "--seed", "11"}).status, 0);
    ASSERT_EQ(strobe({"convert", in, "b.strobe", "--seed", "11"}).status, 0);
    EXPECT_EQ(read_text(folder_ / "a.strobe"), read_text(folder_ / "b.strobe")) << in;
  }
  ASSERT_EQ(strobe({"convert", "e.csv", "a.strobe"}).status, 0);
  ASSERT_EQ(strobe({"convert", path("e.csv"), "b.strobe"}).status, 0);
  EXPECT_EQ(read_text(folder_ / "a.strobe"), read_text(folder_ / "b.strobe")) << "by another path";
  ASSERT_EQ(strobe({"convert", generated, "a.strobe", "--seed", "11"}).status, 0);
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"run", "--workload", "a.strobe", "--out", "kept", "--checkpoint", "state"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  };
  ASSERT_EQ(train({"--epochs", "1"}).status, 0);
  ASSERT_EQ(strobe({"convert", generated, "a.strobe", "--seed", "11"}).status, 0);
  const Outcome again = strobe({"run", "--workload", "a.strobe", "--out", "kept", "--epochs", "1", "--resume"});
  EXPECT_EQ(again.status, 0) << again.err;
  fs::remove_all(folder_ / "kept");
  const Outcome longer = train({"--epochs", "2", "--resume-training"});
  EXPECT_EQ(longer.status, 0) << longer.err;
  fs::copy_file(folder_ / "a.strobe", folder_ / "copy.strobe");
  EXPECT_EQ(strobe({"inspect", "copy.strobe"}).status, 0);
}

TEST_F(OutputTargets, VerticesOfOutputsAreListedWithThem) {
  write_text(folder_ / "e.csv",
             "source,target,time\n\"Öz, B\",=cmd|x,1\n=cmd|x,Ann,2\nAnn,\"Öz, B\",3\n\"Öz, B\",Ann,4\nAnn,=cmd|x,5\n");
  write_text(folder_ / "n.csv", "source,target,time\n7,9,1\n9,12,2\n12,7,3\n7,12,4\n12,9,5\n");
  const auto train = [&](const std::string& file) {
    fs::remove_all(folder_ / "out");
    fs::remove(folder_ / "c.safetensors");
    return strobe({"run", "--workload", file + ":window=1s", "--task", "link-prediction:theta=1", "--epochs", "1",
                   "--out", "out", "--dump-embeddings", "e.npy", "--checkpoint", "c.safetensors", "--dump-samples",
                   "s"});
  };
  Outcome outcome = train("e.csv");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* file : {"e.ids.csv", "c.ids.csv"})
    EXPECT_EQ(read_text(folder_ / file), "row,id,name\n0,0,\"Öz, B\"\n1,1,=cmd|x\n2,2,Ann\n");
  EXPECT_EQ(read_text(folder_ / "s")
                .find("split,step,source,target,label,value,weight,candidate_of,"
                      "source_name,target_name\ntrain,"),
            0u);
  outcome = train("n.csv");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_text(folder_ / "e.ids.csv"), "row,id\n0,7\n1,9\n2,12\n");
  EXPECT_EQ(read_text(folder_ / "s")
                .find("split,step,source,target,label,value,weight,candidate_of,"
                      "source_id,target_id\ntrain,"),
            0u);
  std::istringstream lines(read_text(folder_ / "s"));
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 10u) << line;
    const std::vector<std::string> ids = {"7", "9", "12"};
    EXPECT_EQ(cells[8], ids.at(std::stoul(cells[2])));
    EXPECT_EQ(cells[9], ids.at(std::stoul(cells[3])));
  }
}

TEST_F(OutputTargets, WeightsThatAreNotUsedAreNoted) {
  write_text(folder_ / "w.csv", "source,target,time,weight\n0,1,1,5\n1,2,2,7\n2,0,3,1\n0,2,4,1\n1,0,5,2\n");
  write_text(folder_ / "one.csv", "source,target,time,weight\n0,1,1,1\n1,2,2,1\n2,0,3,1\n");
  const auto notes = [&](const std::string& workload) {
    return Json::parse(strobe({"inspect", workload, "--json"}).out).at("notes").dump();
  };
  ASSERT_EQ(strobe({"convert", "w.csv", "w.strobe"}).status, 0);
  for (const char* file : {"w.csv", "w.strobe"}) {
    EXPECT_NE(notes(file).find("weights=count: the file's weights are not used"), std::string::npos) << file;
    EXPECT_NE(notes(std::string(file) + ":weights=binary").find("weights are not used"), std::string::npos) << file;
    EXPECT_EQ(notes(std::string(file) + ":weights=file").find("not used"), std::string::npos) << file;
  }
  EXPECT_EQ(notes("one.csv").find("not used"), std::string::npos) << "counting weights of 1 adds them up";
  ASSERT_EQ(strobe({"run", "--workload", "w.csv:window=1s", "--task", "link-prediction:theta=1", "--epochs", "1",
                    "--out", "out"})
                .status,
            0);
  EXPECT_NE(read_json(folder_ / "out/summary.json").at("rows").at(0).at("notes").dump().find("weights=count"),
            std::string::npos);
}

TEST_F(OutputTargets, OtherDataUnderOneNameAreNotComparable) {
  const auto make = [&](int rows) {
    std::string text = "source,target,time\n";
    for (int i = 0; i < rows; ++i)
      text += std::to_string(i * 7 % 23) + "," + std::to_string(i * 5 % 19) + "," + std::to_string(i) + "\n";
    write_text(folder_ / "d.csv", text);
  };
  const auto train = [&](const std::string& out) {
    return strobe({"run", "--workload", "d.csv:window_count=8", "--epochs", "7", "--out", out}).status;
  };
  make(200);
  ASSERT_EQ(train("a"), 0);
  ASSERT_EQ(train("b"), 0);
  make(300);
  ASSERT_EQ(train("c"), 0);
  EXPECT_EQ(strobe({"compare", "a", "b"}).status, 0);
  expect_refusal(strobe({"compare", "a", "c"}), 4, {"d.csv", "other data"});
  expect_refusal(strobe({"compare", "a", "c", "--fail-on-regression"}), 4, {"d.csv", "other data"});
}

}  // namespace
}  // namespace strobe::cli_test
