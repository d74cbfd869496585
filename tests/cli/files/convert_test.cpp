// `strobe convert` never overwrites its input, and names data that the new format cannot hold.
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Convert : public Program {
 protected:
  Convert() {
    write_text(folder_ / "nodes.csv", "nodeid,isFraud\n1,0\n2,1\n3,0\n");
    write_text(folder_ / "paid.csv", "sourceNodeId,targetNodeId,value,time\n1,2,5,0\n2,3,7,1\n3,1,1,2\n");
  }

  void expect_no_writing(const std::string& in, const std::string& out, const std::string& what) {
    const std::string before = read_text(folder_ / out);
    expect_refusal(strobe({"convert", in, out}), 2, {"OUT", "'" + out + "'", what});
    EXPECT_EQ(read_text(folder_ / out), before);
  }
};

TEST_F(Convert, WhatIsReadIsNotWrittenOver) {
  ASSERT_EQ(strobe({"convert", "paid.csv", "paid.strobe"}).status, 0);
  std::filesystem::create_symlink("paid.csv", folder_ / "link.csv");
  expect_no_writing("paid.csv", "paid.csv", "IN");
  expect_no_writing("paid.csv", "./paid.csv", "IN");
  expect_no_writing("paid.csv", "link.csv", "IN");
  expect_no_writing("link.csv", "paid.csv", "IN");
  expect_no_writing("paid.strobe", "paid.strobe", "IN");
  expect_no_writing("paid.csv", "nodes.csv", "companion nodes.csv");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.csv"));
}

/// Otherwise the file would hold an infinity, which no command reads.
TEST_F(Convert, SumsBeyondFp32AreRefused) {
  write_text(folder_ / "huge.csv", "source,target,time,weight\n7,8,0,1\n7,8,11,3e38\n7,8,12,3e38\n");
  const std::vector<std::string> says = {"huge.csv", "beyond what fp32 holds", "vertex 7 to vertex 8 in step 1"};
  expect_refusal(strobe({"convert", "huge.csv:window=10s,weights=file", "huge.strobe"}), 2, says);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "huge.strobe"));
  expect_refusal(strobe({"inspect", "huge.csv", "--window", "10s", "--weights", "file"}), 2, says);
  expect_refusal(strobe({"run", "--workload", "huge.csv:window=10s,weights=file", "--epochs", "1"}), 2, says);
  EXPECT_EQ(strobe({"convert", "huge.csv", "huge.strobe"}).status, 0) << "each event is finite";
}

TEST_F(Convert, LabelsAreKeptOrNamedAsLeftOut) {
  const Outcome kept = strobe({"convert", "paid.csv", "paid.strobe"});
  ASSERT_EQ(kept.status, 0) << kept.err;
  EXPECT_EQ(kept.err.find("left out"), std::string::npos) << kept.err;
  for (const std::string in : {"paid.csv", "paid.strobe"}) {  // the second only if it has the labels
    const Outcome lost = strobe({"convert", in, "plain.csv"});
    EXPECT_EQ(lost.status, 0);
    EXPECT_NE(lost.err.find("left out, because csv does not hold them: vertex labels"), std::string::npos) << lost.err;
  }
  const Outcome plain = strobe({"convert", "plain.csv", "again.csv"});
  EXPECT_EQ(plain.err.find("left out"), std::string::npos) << plain.err;
  write_text(folder_ / "j.csv",
             "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
             "0,0,5,0,0.5,-1\n3,1,7,1,0.25,7\n");
  const Outcome features = strobe({"convert", "j.csv", "plain.csv"});
  EXPECT_NE(features.err.find("event labels, 2 features of each event"), std::string::npos) << features.err;
  const Outcome steps = strobe({"convert", "j.csv:window=1s", "steps.strobe"});
  EXPECT_EQ(steps.status, 0) << steps.err;
  EXPECT_NE(steps.err.find("left out, because steps do not hold them: event labels, 2 features of each event"),
            std::string::npos)
      << steps.err;
  EXPECT_EQ(strobe({"convert", "plain.csv:window=1s", "more.strobe"}).err.find("left out"), std::string::npos);
}

}  // namespace
}  // namespace strobe::cli_test
