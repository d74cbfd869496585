#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

const std::string konect_text =
    "% asym multisigned\n% 4 9 9\n5 1 0\t885635999.999997\n1 9 -1 885635999.999997\n5 1 1\t885635999.999997\n9  9 1 "
    "12\n";

TEST(Konect, MixedSeparatorsTwoHeaderLinesZeroAndNegativeWeights) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("out.test", konect_text));
  EXPECT_EQ(graph.provenance.format, "konect");
  EXPECT_EQ(graph.vertices, 3);
  EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{1, 5, 9}));
  EXPECT_EQ(graph.source, (std::vector<VertexId>{2, 1, 0, 1})) << "sorted by time, ties in file order";
  EXPECT_EQ(graph.target, (std::vector<VertexId>{2, 0, 2, 0}));
  EXPECT_EQ(graph.weight, (std::vector<float>{1, 0, -1, 1}));
  EXPECT_EQ(graph.time, (std::vector<double>{12, 885635999.999997, 885635999.999997, 885635999.999997}));
  EXPECT_FALSE(graph.provenance.was_sorted);
  EXPECT_EQ(graph.provenance.rows, 4);
  EXPECT_EQ(graph.provenance.self_loops, 1);
  EXPECT_EQ(graph.provenance.duplicates, 1);
  EXPECT_EQ(graph.provenance.sha256, sha256_hex(konect_text));
}

TEST(Konect, RowsWithoutTimeAreOneStep) {
  const TemporaryFolder folder;
  const EventGraph two = read_events(folder.write("out.two", "% sym unweighted\n1 2\n2 3\n"));
  EXPECT_EQ(two.time, (std::vector<double>{0, 0}));
  EXPECT_TRUE(two.weight.empty());
  const EventGraph three = read_events(folder.write("out.three", "% asym weighted\n1 2 0.5\n2 3 4"));
  EXPECT_EQ(three.weight, (std::vector<float>{0.5f, 4.0f}));
  EXPECT_EQ(load_workload(folder.file("out.two"), Json::object(), 1).steps(), 1);
}

TEST(Konect, BipartiteSidesDoNotShareIds) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("out.bip", "% bip unweighted\n1 1\n2 1\n1 2\n"));
  EXPECT_EQ(graph.vertices, 4);
  EXPECT_EQ(graph.provenance.self_loops, 0);
  EXPECT_EQ(graph.source, (std::vector<VertexId>{0, 1, 0}));
  EXPECT_EQ(graph.target, (std::vector<VertexId>{2, 2, 3}));
  EXPECT_FALSE(graph.provenance.notes.empty());
}

TEST(Snap, CommentsTabsNoFinalNewlineAndEmptyLinesAtTheEnd) {
  const TemporaryFolder folder;
  const EventGraph graph =
      read_events(folder.write("a.txt", "# SRC DST UNIXTS\n1\t2\t30\n 7 2 10.25\r\n2 2 10.25\n\n"));
  EXPECT_EQ(graph.provenance.format, "snap");
  EXPECT_EQ(graph.time, (std::vector<double>{10.25, 10.25, 30}));
  EXPECT_EQ(graph.source, (std::vector<VertexId>{2, 1, 0}));
  EXPECT_TRUE(graph.weight.empty());
  EXPECT_EQ(read_events(folder.write("b.txt", "1 2 3\n4 5 6")).events(), 2);
}

TEST(Snap, SparseHugeIdsBecomeDense) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("a.txt", "9223372036854775807 0 1\n5 9223372036854775807 2\n"));
  EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{0, 5, 9223372036854775807}));
  EXPECT_EQ(graph.source, (std::vector<VertexId>{2, 1}));
  EXPECT_EQ(graph.target, (std::vector<VertexId>{0, 2}));
}

TEST(Amlsim, SampleColumnsWithCrlfAndLabels) {
  const TemporaryFolder folder;
  folder.write("nodes.csv", "nodeid,isFraud,init_balance,fraudStep\r\n3,0,1.5,-1\r\n8,1,2,4\r\n9,1,2,4\r\n");
  const EventGraph graph = read_events(
      folder.write("transactions.csv", "sourceNodeId,targetNodeId,value,time\r\n3,8,163.3,2\r\n8,3,0.5,1\r\n"));
  EXPECT_EQ(graph.provenance.format, "amlsim");
  EXPECT_TRUE(graph.stepped);
  EXPECT_EQ(graph.time, (std::vector<double>{1, 2}));
  EXPECT_EQ(graph.weight, (std::vector<float>{0.5f, 163.3f}));
  EXPECT_EQ(graph.vertex_label, (std::vector<std::int8_t>{0, 1}));
  EXPECT_EQ(make_snapshots(graph, {}).vertex_label, graph.vertex_label);
}

TEST(Amlsim, OutputsColumns) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write(
      "tx.csv",
      "TXN_ID,ACCOUNT_ID,COUNTER_PARTY_ACCOUNT_NUM,TXN_SOURCE_TYPE_CODE,tx_count,TXN_AMOUNT_ORIG,start,end\n"
      "2,15,25,CHECK,1,125.05,1,1\n4,21,25,CREDIT,1,172.97,2,3\n"));
  EXPECT_TRUE(graph.stepped);
  EXPECT_EQ(graph.vertices, 3);
  EXPECT_EQ(graph.time, (std::vector<double>{1, 2}));
  EXPECT_TRUE(graph.vertex_label.empty());
}

TEST(AmlsimDated, ColumnsByNameDatesAndFlags) {
  const TemporaryFolder folder;
  const EventGraph graph =
      read_events(folder.write("transactions.csv",
                               "tran_id,orig_acct,bene_acct,tx_type,base_amt,tran_timestamp,is_sar,alert_id\r\n"
                               "1,1001,2001,TRANSFER,150.5,2017-01-02T11:00:00Z,False,-1\r\n"
                               "2,2001,3001,TRANSFER,2750,2017-01-01T00:00:00Z,True,10\r\n"));
  EXPECT_EQ(graph.provenance.format, "amlsim-dated");
  EXPECT_FALSE(graph.stepped);
  EXPECT_EQ(graph.time, (std::vector<double>{1483228800, 1483354800}));
  EXPECT_EQ(graph.weight, (std::vector<float>{2750, 150.5}));
  EXPECT_EQ(graph.event_label, (std::vector<std::int8_t>{1, 0}));
  EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{1001, 2001, 3001}));
  const EventGraph bare = read_events(
      folder.write("reordered.csv", "tran_timestamp,base_amt,orig_acct,bene_acct\n1970-01-02 00:00:01.5,1,5,6\n"));
  EXPECT_EQ(bare.time, (std::vector<double>{86401.5}));
  EXPECT_TRUE(bare.event_label.empty());
}

constexpr const char* bad_dates[] = {"2001-02-29",
                                     "2017-13-01",
                                     "0000-01-01",
                                     "2017-1-01",
                                     "2017-01-01T",
                                     "2017-01-01T24:00:00",
                                     "2017-01-01T12:60:00",
                                     "2017-01-01T12:00:60",
                                     "2017-01-01T12",
                                     "2017-01-01T12:00:00+1:00",
                                     "2017-01-01x",
                                     "2017-01/01",
                                     "2017/01-01",
                                     "2017-01-01T12:00+01:00Z",
                                     "2017-01-01T12:00+",
                                     "2017-01-01T12:00+01:60",
                                     "2017-01-01T12:00 ",
                                     "2017-01-01+01:00",
                                     "2017-01-01T1200",
                                     "20170101",
                                     "Z",
                                     "-017-01-01",
                                     "2017-01-01T12:00:-1",
                                     "2017-01-01T12:00:nan",
                                     "2017-01-01T12:00:1e1"};

TEST(TextReaderTest, Dates) {
  const TemporaryFolder folder;
  const auto date = [&](const std::string& text) {
    TextReader reader(folder.write("date", text + "\n"));
    reader.next();
    return reader.date_time({reader.line(), 1});
  };
  EXPECT_EQ(date("1970-01-01"), 0);
  EXPECT_EQ(date("2000-02-29T23:59:59Z"), 951868799);
  EXPECT_EQ(date("1969-12-31 23:59:59.25"), -0.75);
  EXPECT_EQ(date("9999-12-31T23:59:59Z"), 253402300799.0);
  EXPECT_EQ(date("1970/01/02"), 86400);
  EXPECT_EQ(date("1970-01-01 10:30"), 37800);
  EXPECT_EQ(date("1970/01/01T10:30Z"), 37800);
  EXPECT_EQ(date("1970-01-01T12:00:00+01:00"), 39600) << "noon there is eleven in UTC";
  EXPECT_EQ(date("1970-01-01T12:00-0530"), 63000);
  EXPECT_EQ(date("1970-01-01 00:00:00.5 +02"), -7199.5);
  for (const char* bad : bad_dates) {
    EXPECT_THROW(date(bad), InvalidInput) << bad;
  }
}

TEST(Gzip, IsDetectedByContentAndMembersAreConcatenated) {
  const TemporaryFolder folder;
  const EventGraph plain = read_events(folder.write("plain", konect_text));
  const EventGraph zipped = read_events(test::write_gzip(folder.file("no-suffix"), konect_text));
  EXPECT_EQ(zipped.source, plain.source);
  EXPECT_EQ(zipped.time, plain.time);
  EXPECT_NE(zipped.provenance.sha256, plain.provenance.sha256) << "the hash is of the file's own bytes";
  test::write_gzip(folder.file("a.gz"), konect_text.substr(0, 50));
  test::write_gzip(folder.file("b.gz"), konect_text.substr(50));
  const std::string both =
      folder.write("both.gz", test::read_bytes(folder.file("a.gz")) + test::read_bytes(folder.file("b.gz")));
  EXPECT_EQ(read_events(both).time, plain.time);
}

TEST(TextReaderTest, LinesAcrossBuffersAndLineNumbers) {
  const TemporaryFolder folder;
  std::string text;
  constexpr int lines = 200000;  // 4.6 MB, more than two buffers
  for (int i = 0; i < lines; ++i)
    text += std::to_string(i % 1000) + " " + std::to_string(i % 777) + " 1" + std::to_string(1000000000 + i) + "\n";
  const EventGraph plain = read_events(folder.write("long.txt", text));
  ASSERT_EQ(plain.events(), lines);
  EXPECT_EQ(plain.time[123456], 11000123456.0);
  EXPECT_EQ(read_events(test::write_gzip(folder.file("long.gz"), text)).time, plain.time);
  try {
    read_events(folder.write("bad.txt", text + "1 2\n"));
    FAIL() << "a short row was accepted";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.line(), lines + 1u);
  }
}

TEST(TextReaderTest, RefusesLinesThatAreNoLines) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_events(folder.write("long", std::string(3 << 20, '1')), "snap"), InvalidInput);
  EXPECT_THROW(read_events(folder.write("long-comment", "# " + std::string(3 << 20, 'x') + "\n1 2 3\n"), "snap"),
               InvalidInput);
}

/// Reads a file of events or of steps.
void read_any(const std::string& path, const std::string& name) {
  const FormatTag::Value& format = find_format(path, name);
  if (format.read_snapshots != nullptr) {
    const SnapshotGraph graph = format.read_snapshots(path);
    EXPECT_EQ(graph.features.size(), static_cast<std::size_t>(graph.steps() * graph.vertices * graph.feature_width));
  } else {
    const EventGraph graph = read_events(path, name);
    EXPECT_EQ(graph.source.size(), graph.time.size());
  }
}

TEST(Formats, EveryRegisteredFormatRefusesForeignText) {
  const TemporaryFolder folder;
  const std::string path = folder.write("prose", "It was a bright cold day in April.\nAnd the clocks were striking.\n");
  ASSERT_GE(FormatRegistry::instance().names().size(), 16u);
  for (const auto& [name, entry] : FormatRegistry::instance().entries()) {
    EXPECT_EQ(entry.value.probe("It was a bright cold day in April.\n", "prose"), 0) << name;
    EXPECT_EQ(entry.value.probe("", "empty"), 0) << name;
    EXPECT_NE(entry.value.read == nullptr, entry.value.read_snapshots == nullptr) << name << " reads one or the other";
    EXPECT_THROW(read_any(path, name), InvalidInput) << name;
    EXPECT_FALSE(entry.description.empty() || entry.citation.empty()) << name;
  }
  EXPECT_THROW(read_events(path), InvalidInput);
  EXPECT_THROW(read_events(path, "snop"), InvalidRequest);
}

/// A small valid file of every format.
std::vector<std::pair<std::string, std::string>> valid_files(const TemporaryFolder& folder) {
  const EventGraph good = read_events(folder.write("good", konect_text));
  write_binary_graph(good, folder.file("good.bin"));
  write_csv(good, folder.file("good.csv"));
  return {{"konect", konect_text},
          {"snap", "# c\n1 2 3\n4 5 60.5\n7 7 7\n"},
          {"amlsim", "sourceNodeId,targetNodeId,value,time\r\n3,8,163.3,2\r\n8,3,0.5,1\r\n"},
          {"csv", test::read_bytes(folder.file("good.csv"))},
          {"amlsim-dated", "orig_acct,bene_acct,base_amt,tran_timestamp,is_sar\n1,2,3.5,2017-01-01T00:00:00Z,True\n"},
          {"snap-signed", "from,to,feature,time\n6,2,4,1289241911.72836\n6,5,-10,1289241941\n"},
          {"network-repository", "% c\n48 13 1 926389620\n67\t13 2.5 926418960"},
          {"sociopatterns", "20 1467 1591\n40 1513 1591\n40 9 8\n"},
          {"jodie", "u,i,ts,label\r\n0,8227,0,0\r\n1,8228,36,1\r\n"},
          {"movielens", "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,3.0,1260759179\n"},
          {"tgn", ",u,i,ts,label,idx\n0,4,5,0.0,0.0,1\n1,6,3,258552.0,0.0,2\n"},
          {"tgl", ",src,dst,time,ext_roll\n0,4,7,0.5,0\n1,7,7,9.0,2\n"},
          {"tgb", "day,src,dst,weight\n1648811421,0x27c,0x842,800.0\n1648811420,\"a, b\",0x1,0.5\n"},
          {"matrix-market", "%%MatrixMarket matrix coordinate real general\n% c\n5 5 2\n1 2 0.5\n4 5 1\n"},
          {"pyg-temporal", R"({"edges": [[0, 1], [1, 0]], "weights": [1, 0.5], "X": [[1, 2], [3, 4], [5, 6]]})"},
          {"strobe-binary", test::read_bytes(folder.file("good.bin"))}};
}

/// Damages valid files at seeded places: a reader may accept the result or refuse it with InvalidInput, nothing else.
TEST(Formats, DamagedFilesAreReadOrRefused) {
  const TemporaryFolder folder;
  std::uint64_t state = 12345;
  const auto random = [&state](std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  int refused = 0;
  for (const auto& [format, text] : valid_files(folder)) {
    for (int round = 0; round < 300; ++round) {
      std::string damaged = text;
      for (std::size_t i = random(4); i < 4; ++i) damaged[random(damaged.size())] = static_cast<char>(random(256));
      if (round % 3 == 0) damaged.resize(random(damaged.size()));
      const std::string path = folder.write("damaged", damaged);
      try {
        read_any(path, format);
      } catch (const InvalidInput&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1800) << "damage went unnoticed";
}

}  // namespace
}  // namespace strobe
