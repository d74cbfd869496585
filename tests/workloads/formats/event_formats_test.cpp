// Files whose vertices share one id space: signed networks, Network Repository, contact lists, TGL.
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

const std::string signed_rows = "6,2,4,1289241911.72836\n6,5,-10,1289241941.53378\n1,15,1,1289241900\n";

TEST(SnapSigned, RatingsAreWeightsAndTheHeaderChangesNothing) {
  const TemporaryFolder folder;
  const EventGraph bare = read_events(folder.write("a.csv", signed_rows));
  EXPECT_EQ(bare.provenance.format, "snap-signed");
  EXPECT_EQ(bare.original_id, (std::vector<std::int64_t>{1, 2, 5, 6, 15}));
  EXPECT_EQ(bare.time, (std::vector<double>{1289241900, 1289241911.72836, 1289241941.53378}));
  EXPECT_EQ(bare.weight, (std::vector<float>{1, 4, -10})) << "weights follow their events";
  EXPECT_EQ(bare.source, (std::vector<VertexId>{0, 3, 3}));
  EXPECT_EQ(bare.provenance.ids, "shared");
  for (const char* header : {"from,to,feature,time\r\n", "\xEF\xBB\xBFSOURCE,TARGET,RATING,TIME\n"}) {
    const EventGraph headed = read_events(folder.write("b.csv", header + signed_rows));
    EXPECT_EQ(headed.provenance.format, "snap-signed");
    EXPECT_EQ(headed.source, bare.source);
    EXPECT_EQ(headed.weight, bare.weight);
    EXPECT_EQ(headed.provenance.rows, 3);
  }
}

TEST(SnapSigned, OtherColumnsOfNumbersAreNotGuessed) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_events(folder.write("a.csv", "1,2,50,1\n2,3,60,0\n")), InvalidInput) << "u,i,ts,label, no header";
  EXPECT_THROW(read_events(folder.write("b.csv", "0.5,2,1,1289241911\n")), InvalidInput);
  EXPECT_THROW(read_events(folder.write("c.csv", "1,2,3\n4,5,6\n")), InvalidInput);
}

TEST(NetworkRepository, ThreeOrFourColumnsBetweenCommasOrBlanks) {
  const TemporaryFolder folder;
  const EventGraph commas = read_events(folder.write("a.edges", "428,538,20\n374,538,10\n"));
  EXPECT_EQ(commas.provenance.format, "network-repository");
  EXPECT_EQ(commas.time, (std::vector<double>{10, 20}));
  EXPECT_EQ(commas.source, (std::vector<VertexId>{0, 1}));
  EXPECT_TRUE(commas.weight.empty());
  const EventGraph blanks =
      read_events(folder.write("b.edges", "% a temporal network\n# two\n48 13 2.5 30\n48\t13  1\t30\r\n13 13 -1 31"));
  EXPECT_EQ(blanks.provenance.format, "network-repository");
  EXPECT_EQ(blanks.weight, (std::vector<float>{2.5f, 1, -1})) << "the last row has no end of line";
  EXPECT_EQ(blanks.provenance.duplicates, 1);
  EXPECT_EQ(blanks.provenance.self_loops, 1);
  const EventGraph four = read_events(folder.write("c.edges", "1,2,7,5\n"));
  EXPECT_EQ(four.weight, (std::vector<float>{7}));
  EXPECT_EQ(read_events(test::write_gzip(folder.file("d.edges.gz"), "1 2 5\n2 3 6\n")).provenance.format,
            "network-repository");
}

TEST(NetworkRepository, StatesHowColumnsWereTaken) {
  const TemporaryFolder folder;
  const EventGraph three = read_events(folder.write("a.edges", "1 2 5\n"));
  ASSERT_EQ(three.provenance.notes.size(), 1u);
  EXPECT_NE(three.provenance.notes[0].find("source, target, time"), std::string::npos);
  const EventGraph four = read_events(folder.write("b.edges", "1 2 5 6\n"));
  EXPECT_NE(four.provenance.notes[0].find("source, target, weight, time"), std::string::npos);
}

/// Contacts on a grid of 20 s between vertices 1100 and up.
std::string contacts(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i)
    text += std::to_string(32520 + 20 * (i / 2)) + " " + std::to_string(1100 + i % 5) + " " +
            std::to_string(1200 - i % 7) + "\n";
  return text;
}

TEST(Sociopatterns, TheTimeComesFirst) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("tij_X.dat_", "40 7 9\n20 9 8\n40 7 9\n"));
  EXPECT_EQ(graph.provenance.format, "sociopatterns");
  EXPECT_EQ(graph.time, (std::vector<double>{20, 40, 40}));
  EXPECT_EQ(graph.source, (std::vector<VertexId>{2, 0, 0}));
  EXPECT_EQ(graph.target, (std::vector<VertexId>{1, 2, 2}));
  EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{7, 8, 9}));
  EXPECT_EQ(graph.provenance.duplicates, 1);
}

TEST(Sociopatterns, IsDistinguishedFromSnapByItsRows) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_events(folder.write("contacts.txt", contacts(40))).provenance.format, "sociopatterns");
  EXPECT_EQ(read_events(folder.write("short.txt", contacts(4))).provenance.format, "snap") << "too little to go by";
  std::string by_source, off_grid = contacts(40), falling = contacts(40);
  for (int i = 0; i < 40; ++i) by_source += std::to_string(20 * (i / 4)) + " 5 " + std::to_string(1000 + i) + "\n";
  EXPECT_EQ(read_events(folder.write("a.txt", by_source)).provenance.format, "snap") << "column 3 is sorted too";
  off_grid.replace(off_grid.find("32580"), 5, "32581");
  EXPECT_EQ(read_events(folder.write("b.txt", off_grid)).provenance.format, "snap");
  falling += "20 1 2\n";
  EXPECT_EQ(read_events(folder.write("c.txt", falling)).provenance.format, "snap");
}

TEST(Tgl, BothHeadersAndTheSizesOfTheParts) {
  const TemporaryFolder folder;
  const EventGraph one = read_events(
      folder.write("edges.csv", ",src,dst,time,ext_roll\n0,4,7,0.5,0\n1,7,7,9.0,0\n2,4,1,9.0,1\n3,1,4,30,2\n"));
  EXPECT_EQ(one.provenance.format, "tgl");
  EXPECT_EQ(one.time, (std::vector<double>{0.5, 9, 9, 30}));
  EXPECT_EQ(one.original_id, (std::vector<std::int64_t>{1, 4, 7}));
  EXPECT_EQ(one.provenance.self_loops, 1);
  EXPECT_EQ(one.provenance.notes, (std::vector<std::string>{"ext_roll: 2 train, 1 validation, 1 test events"}));
  const EventGraph two = read_events(folder.write("two.csv", ",src,dst,time,int_roll,ext_roll\n0,4,7,1,2,0\n"));
  EXPECT_EQ(two.provenance.notes, (std::vector<std::string>{"ext_roll: 1 train, 0 validation, 0 test events"}));
}

TEST(Probing, LinesAndNumbers) {
  EXPECT_EQ(first_line("\xEF\xBB\xBFu,i\r\n1"), "u,i");
  EXPECT_EQ(data_lines("# a\n1 2\n\n3 4\r\n5 cut", "#", 9), (std::vector<std::string_view>{"1 2", "3 4"}));
  EXPECT_EQ(data_lines("1 2", "#", 9), (std::vector<std::string_view>{"1 2"}));
  EXPECT_EQ(data_lines("1\n2\n3\n", "", 2).size(), 2u);
  EXPECT_EQ(line_numbers(" 1\t-2.5  3 "), (std::vector<double>{1, -2.5, 3}));
  EXPECT_EQ(line_numbers("1,2"), (std::vector<double>{1, 2}));
  EXPECT_EQ(line_numbers("1, 2\xC2\xA0"), (std::vector<double>{1, 2}));
  for (const char* line : {"", "1,", "1,,2", "1 x", "nan 1", "0x10"}) EXPECT_TRUE(line_numbers(line).empty());
  EXPECT_TRUE(has_suffix("a.edges.gz", ".edges") && has_suffix("a.edges", ".edges"));
  EXPECT_FALSE(has_suffix("edges.txt", ".edges"));
}

}  // namespace
}  // namespace strobe
