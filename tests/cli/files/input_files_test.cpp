// Files that are nearly right are read, or refused with the place and a remedy. Paths that are no file are named.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class InputFiles : public Program {
 protected:
  Outcome inspect(const std::string& text) {
    write_text(folder_ / "in.csv", text);
    return strobe({"inspect", "in.csv", "--json"});
  }

  /// The report on the file, without the digest of its bytes; null when it was refused.
  Json read(const std::string& text) {
    Json report = Json::parse(inspect(text).out, nullptr, false);
    if (!report.is_object()) return nullptr;
    report.erase("sha256");
    return report;
  }
};

TEST_F(InputFiles, AMarkAndQuotedNamesAreReadOver) {
  const std::string rows = "1,2,10\n2,3,20\n3,1,30\n";
  const Json plain = read("source,target,time\n" + rows);
  ASSERT_EQ(plain.value("events", 0), 3);
  for (const std::string header : {"\xEF\xBB\xBFsource,target,time\n", "\"source\",\"target\",\"time\"\r\n",
                                   "\xEF\xBB\xBF\"source\",\"target\",\"time\"\n"}) {
    EXPECT_EQ(read(header + rows), plain) << header;
  }
  const std::string paid = "sourceNodeId,targetNodeId,value,time\n1,2,5,0\n2,3,7,1\n";
  EXPECT_EQ(read("\xEF\xBB\xBF" + paid), read(paid));
  EXPECT_EQ(read(paid).at("format"), "amlsim");
}

TEST_F(InputFiles, VerticesOfACsvMayHaveNames) {
  const Json numbers = read("source,target,time,weight\n0,1,10,2\n1,2,20,3\n2,0,1483228800,1\n");
  Json names = read("source,target,time,weight\nana,\"b, c\",10,2\n\"b, c\",7,20,3\n7,ana,2017-01-01,1\n");
  ASSERT_TRUE(names.is_object());
  EXPECT_NE(names.dump().find("vertices have names in the file"), std::string::npos);
  for (const char* key : {"events", "vertices", "first_time", "last_time", "steps", "weighted"})
    EXPECT_EQ(names.at(key), numbers.at(key)) << key;
  EXPECT_EQ(read("source,target,time\n\"5\",\"6\",1\n\"6\",\"5\",2\n").at("vertices"), 2);
  expect_refusal(inspect("source,target,time\n1,2,10\n2,bob,20\n"), 2,
                 {"in.csv:3:3", "'bob' is not a whole number", "in the first row too"});
  expect_refusal(inspect("source,target,time\nana,bob,10\nbob,,20\n"), 2, {"in.csv:3:5", "the target is missing"});
  expect_refusal(inspect("source,target,time\nana,bob,10\nbob,20\n"), 2, {"in.csv:3", "expected 3 columns, found 2"});
  expect_refusal(inspect("source,target,time\nana,bob,10\n\"bob,ana,20\n"), 2, {"in.csv:3"});
  expect_refusal(inspect("source,target,time\nana,bob,soon\n"), 2, {"in.csv:2:9", "soon"});
}

TEST_F(InputFiles, ANearMissIsReadOrSaysWhatIsWrong) {
  const Json plain = read("source,target,time\n1,2,10\n2,3,20\n");
  for (const std::string near :
       {"source;target;time\n1;2;10\n2;3;20\n", "\"source\";\"target\";\"time\"\n1;2;10\n2;3;20\n",
        "Source,Target,Time\n1,2,10\n2,3,20\n", "source\ttarget\ttime\n1\t2\t10\n2\t3\t20\n"}) {
    const Json seen = read(near);
    ASSERT_TRUE(seen.is_object()) << near;
    EXPECT_EQ(seen.at("format"), "table") << near;
    for (const char* key : {"events", "vertices", "first_time", "last_time", "steps", "time_unit"})
      EXPECT_EQ(seen.at(key), plain.at(key)) << near << key;
  }
  EXPECT_EQ(read("source\ttarget\tstep\n1\t2\t10\n").at("time_unit"), "steps");
  expect_refusal(inspect("source,target,tyme\n1,2,10\n"), 2,
                 {"in.csv", "it may be tyme", "columns=source:source/target:target/time:tyme"});
  EXPECT_NE(read("source,target,time,mass\n1,2,10,5\n").dump().find("columns that are not read: 'mass'"),
            std::string::npos);
  expect_refusal(inspect("source,target,time\n1,2,10\n\"2\",3,20\n"), 2, {"in.csv:3:1", "source vertex id '\"2\"'"});
}

TEST_F(InputFiles, AnOptionWithoutValueIsNamed) {
  write_text(folder_ / "in.csv", "source,target,time\n1,2,10\n2,3,20\n");
  for (const std::string workload : {"in.csv:window", "chess:window", "in.csv:window_count=3,window"})
    expect_refusal(strobe({"run", "--workload", workload, "--dry-run"}), 2, {"--workload", "'window' has no value"});
  expect_refusal(strobe({"run", "--workload", "none.csv:window", "--dry-run"}), 2, {"no file 'none.csv:window'"});
}

/// The paths are a folder, a broken link and a name longer than a file system allows.
TEST_F(InputFiles, WhatIsNoFileIsAWrongRequestThatNamesIt) {
  std::filesystem::create_directory(folder_ / "folder.json");
  std::filesystem::create_symlink("nowhere", folder_ / "link.json");
  const std::vector<std::string> run = {"run", "--workload", tiny, "--epochs", "1", "--out", "out"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  for (const std::string& file :
       {std::string("folder.json"), std::string("link.json"), std::string(300, 'n') + ".json"}) {
    expect_refusal(strobe({"run", "--workload", file, "--out", "out"}), 2, {file});
    expect_refusal(strobe({"run", file, "--out", "out"}), 2, {file});
    expect_refusal(strobe(with({"--load-model", file})), 2, {"--load-model", file});
    expect_refusal(strobe(with({"--device", "sim", "--cluster", file})), 2, {"--cluster", file});
    expect_refusal(strobe(with({"--checkpoint", file, "--resume-training"})), 2, {file});
    expect_refusal(strobe({"compare", file, file}), 2, {"BASE and NEW", file});
  }
  const std::string long_name(300, 'n');
  for (const char* flag : {"--save-model", "--dump-embeddings", "--checkpoint"})
    expect_refusal(strobe(with({flag, long_name})), 2, {flag, long_name, "too long"});
  expect_refusal(strobe({"run", "--workload", tiny, "--out", long_name}), 2, {"--out", long_name});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace strobe::cli_test
