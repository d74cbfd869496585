// The three files of Elliptic, labels of dated AMLSim output, and files that are refused by what they are.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/text/foreign_files.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

const std::string features_text = "30,1,-0.5,3\n5,1,0.25,2\n7,2,1,1\n9,2,4,-4\n100,3,8,8\n2,2,0,0.5\n6,3,1,2\n";
const std::string edges_text = "txId1,txId2\n30,5\n9,7\n7,9\n100,6\n";
const std::string classes_text = "txId,class\n30,unknown\n5,2\n7,1\n9,2\n100,unknown\n2,1\n6,2\n";

void write_elliptic(const TemporaryFolder& folder) {
  folder.write("elliptic_txs_features.csv", features_text);
  folder.write("elliptic_txs_edgelist.csv", edges_text);
  folder.write("elliptic_txs_classes.csv", classes_text);
}

TEST(Elliptic, IsReadFromAnyOfItsFiles) {
  const TemporaryFolder folder;
  write_elliptic(folder);
  for (const char* name : {"elliptic_txs_edgelist.csv", "elliptic_txs_features.csv", "elliptic_txs_classes.csv"}) {
    const EventGraph graph = read_events(folder.file(name));
    EXPECT_EQ(graph.provenance.format, "elliptic");
    EXPECT_EQ(graph.provenance.name, name);
    EXPECT_TRUE(graph.stepped);
    EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{2, 5, 6, 7, 9, 30, 100})) << "2 has no edge";
    EXPECT_EQ(graph.time, (std::vector<double>{1, 2, 2, 3}));
    EXPECT_EQ(graph.source, (std::vector<VertexId>{5, 4, 3, 6}));
    EXPECT_EQ(graph.target, (std::vector<VertexId>{1, 3, 4, 2}));
    EXPECT_EQ(graph.vertex_feature_width, 2);
    EXPECT_EQ(graph.vertex_features, (std::vector<float>{0, 0.5, 0.25, 2, 1, 2, 1, 1, 4, -4, -0.5, 3, 8, 8}));
    EXPECT_EQ(graph.timed_labels.vertex, (std::vector<VertexId>{1, 3, 4, 0, 2}));
    EXPECT_EQ(graph.timed_labels.time, (std::vector<double>{1, 2, 2, 2, 3}));
    EXPECT_EQ(graph.timed_labels.label, (std::vector<std::int32_t>{0, 1, 0, 1, 0}));
    EXPECT_TRUE(any_note(graph, "2 illicit (label 1), 3 licit (label 0), 2 unknown"));
    EXPECT_TRUE(any_note(graph, "1 of 7 transactions have no edge"));
  }
}

TEST(Elliptic, BecomesStepsWithLabelsOfTheirOwnStep) {
  const TemporaryFolder folder;
  write_elliptic(folder);
  const SnapshotGraph graph = load_workload(folder.file("elliptic_txs_edgelist.csv"), {{"features", "own"}}, 1);
  ASSERT_EQ(graph.steps(), 3);
  EXPECT_EQ(graph.feature_width, 2);
  const std::vector<std::int8_t> labels = {-1, 0,  -1, -1, -1, -1, -1,   // step 1: 5 is licit
                                           1,  -1, -1, 1,  0,  -1, -1,   // step 2: 2 and 7 illicit, 9 licit
                                           -1, -1, 0,  -1, -1, -1, -1};  // step 3: 6 licit
  EXPECT_EQ(graph.cell_label, labels);
}

TEST(Elliptic, RefusesFilesThatDoNotFitTogether) {
  const auto refusal = [&](const std::string& features, const std::string& edges,
                           const std::string& classes) -> std::string {
    const TemporaryFolder folder;
    if (!features.empty()) folder.write("elliptic_txs_features.csv", features);
    if (!classes.empty()) folder.write("elliptic_txs_classes.csv", classes);
    try {
      read_events(folder.write("elliptic_txs_edgelist.csv", edges));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto expect = [](const std::string& message, const std::string& place, const std::string& reason) {
    EXPECT_NE(message.find(place), std::string::npos) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  expect(refusal("", edges_text, ""), "edgelist.csv", "_features.csv is missing in the same folder");
  EXPECT_EQ(refusal(features_text, edges_text, ""), "accepted") << "classes may be missing";
  expect(refusal(features_text, edges_text + "5,7\n", ""), "edgelist.csv:6:1", "5 is of step 1, 7 of step 2");
  expect(refusal(features_text + "5,1,0,0\n", edges_text, ""), "features.csv:8:1", "transaction 5 is listed twice");
  expect(refusal(features_text + "8,1,0\n", edges_text, ""), "features.csv:8:", "expected 4 columns");
  expect(refusal(features_text + "8,1.0,0,0\n", edges_text, ""), "features.csv:8:3", "time step '1.0'");
  expect(refusal(features_text, edges_text, "txId,class\n5,3\n"), "classes.csv:2:3", "1, 2 or unknown, found '3'");
  expect(refusal(features_text, edges_text, "txId,class\n5,1\n5,1\n"), "classes.csv:3:1", "listed twice");
}

TEST(Elliptic, LeavesOutVerticesWithoutAStep) {
  const TemporaryFolder folder;
  folder.write("elliptic_txs_features.csv", features_text);
  folder.write("elliptic_txs_classes.csv", "txId,class\n5,1\n8,2\n");
  const std::int64_t events = read_events(folder.write("elliptic_txs_edgelist.csv", edges_text)).events();
  const EventGraph graph = read_events(folder.write("elliptic_txs_edgelist.csv", edges_text + "5,8\n9,8\n"));
  EXPECT_EQ(graph.events(), events);
  EXPECT_TRUE(any_note(graph, "2 edges are left out: the features file lacks one of their transactions"));
  EXPECT_TRUE(any_note(graph, "classes: 1 illicit (label 1), 0 licit (label 0)"));
  EXPECT_TRUE(any_note(graph, "1 of transactions without features"));
}

TEST(Elliptic, HasNoSidesToSeparate) {
  const TemporaryFolder folder;
  write_elliptic(folder);
  EXPECT_THROW(read_events(folder.file("elliptic_txs_edgelist.csv"), "", "offset"), InvalidRequest)
      << "transactions without an edge are on no side";
}

const std::string dated_text =
    "tran_id,orig_acct,bene_acct,tx_type,base_amt,tran_timestamp,is_sar,alert_id\n"
    "1,10,11,TRANSFER,100.5,2017-01-01T00:00:00Z,False,-1\n2,11,12,TRANSFER,20.0,2017-01-02T00:00:00Z,True,4\n"
    "3,12,10,TRANSFER,30.0,2017-01-03T00:00:00Z,False,-1\n4,10,13,TRANSFER,31.0,2017-01-04T00:00:00Z,False,-1\n";

TEST(AmlsimAccounts, AreLabelsOfDatedTransactions) {
  const TemporaryFolder folder;
  const std::string path = folder.write("transactions.csv", dated_text);
  EXPECT_TRUE(read_events(path).vertex_label.empty());
  folder.write("sar_accounts.csv", "ACCOUNT_ID,ACCOUNT_KEY,LABEL\n11,11,SAR\n11,11,SAR\n99,99,SAR\n");
  EXPECT_EQ(read_events(path).vertex_label, (std::vector<std::int8_t>{0, 1, 0, 0}));
  test::write_gzip(folder.file("accounts.csv.gz"),
                   "acct_id,dsply_nm,type,prior_sar_count\n10,\"C, 10\",SAV,False\n11,C11,SAV,True\n12,C12,SAV,True\n"
                   "13,C13,SAV,0\n14,C14,SAV,2\n");
  const EventGraph graph = read_events(path);
  EXPECT_EQ(graph.vertex_label, (std::vector<std::int8_t>{0, 1, 1, 0}));
  EXPECT_TRUE(any_note(graph, "1 rows of sar_accounts.csv repeat an account"));
  EXPECT_TRUE(any_note(graph, "1 are flagged in accounts.csv only and 0 listed in sar_accounts.csv only"));
  EXPECT_TRUE(any_note(graph, "1 accounts of accounts.csv.gz have no transaction"));
  EXPECT_EQ(workload_files(path, Json::object()).size(), 3u);
  std::filesystem::remove(folder.file("sar_accounts.csv"));
  EXPECT_EQ(read_events(path).vertex_label, (std::vector<std::int8_t>{0, 1, 1, 0}));
}

TEST(AmlsimAccounts, MustListEachAccountOnce) {
  const auto refusal = [](const std::string& accounts) -> std::string {
    const TemporaryFolder folder;
    folder.write("accounts.csv", accounts);
    try {
      read_events(folder.write("transactions.csv", dated_text));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string three = "acct_id,prior_sar_count\n10,False\n11,False\n12,True\n";
  EXPECT_NE(refusal(three).find("account 13 has transactions but is not listed"), std::string::npos);
  EXPECT_NE(refusal(three + "12,True\n").find("accounts.csv:5:1: account 12 is listed twice"), std::string::npos);
  EXPECT_NE(refusal(three + "13,maybe\n").find("accounts.csv:5:4"), std::string::npos);
  EXPECT_NE(refusal("id,x\n1,2\n").find("no column acct_id"), std::string::npos);
}

/// First bytes of files that are no text, with a word that their refusal has.
std::vector<std::pair<std::string, std::string>> foreign_files() {
  const std::string text = "source,target,time\n1,2,3\n";
  std::string wide, swapped;
  for (const char c : text) {
    wide += {c, '\0'};
    swapped += {'\0', c};
  }
  std::string tar(600, '\0');
  tar.replace(0, 5, "a.csv");
  tar.replace(257, 5, "ustar");
  const std::string zeros(16, '\0');
  return {{"\xFF\xFE" + wide, "UTF-16"},
          {"\xFE\xFF" + swapped, "UTF-16"},
          {wide, "UTF-16"},
          {swapped, "UTF-16"},
          {"\x28\xB5\x2F\xFD" + zeros, "zstd -d"},
          {std::string("\xFD\x37zXZ\0", 6) + zeros, "xz -d"},
          {"BZh91AY&SY" + zeros, "bzip2 -d"},
          {"PK\x03\x04" + zeros, "zip archive"},
          {"PAR1" + zeros, "Parquet"},
          {"ARROW1" + zeros, "Feather"},
          {"FEA1" + zeros, "Feather"},
          {"\x80\x04\x95" + zeros, "pickle"},
          {tar, "tar archive"}};
}

TEST(ForeignFiles, AreRefusedWithTheirKind) {
  const TemporaryFolder folder;
  const std::string text = "source,target,time\n1,2,3\n";
  for (const auto& [bytes, named] : foreign_files()) {
    for (const char* format : {"", "csv", "konect", "pyg-temporal"}) {
      const std::string path = folder.write("a.csv", bytes);
      try {
        const FormatTag::Value& reader = find_format(path, format);
        reader.read != nullptr ? static_cast<void>(reader.read(path)) : static_cast<void>(reader.read_snapshots(path));
        FAIL() << named;
      } catch (const InvalidInput& error) {
        EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
      }
    }
    test::write_gzip(folder.file("b.gz"), bytes);
    EXPECT_THROW(read_events(folder.file("b.gz")), InvalidInput);
  }
  EXPECT_EQ(describe_foreign_file("PAR1,BZh,2\n"), "");
  EXPECT_EQ(describe_foreign_file(text), "");
  EXPECT_EQ(describe_foreign_file("\xEF\xBB\xBF" + text), "");
}

TEST(ForeignFiles, KnowledgeGraphsAreReadOrNamed) {
  const TemporaryFolder folder;
  const EventGraph facts = read_events(folder.write("a.txt", "timestamp,head,tail,relation_type\n1,2,3,4\n2,3,5,4\n"));
  EXPECT_EQ(facts.original_id, (std::vector<std::int64_t>{2, 3, 5}));
  EXPECT_EQ(facts.target, (std::vector<VertexId>{1, 2}));
  EXPECT_TRUE(any_note(facts, "relation_type looks like a relation and is not read"));
  try {
    read_events(folder.write("a.txt", "0\t1\t2\t24\n5\t1\t7\t48\n"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("knowledge graph"), std::string::npos) << error.what();
  }
}

TEST(ByteOrderMark, IsReadOverInEveryFormat) {
  const TemporaryFolder folder;
  for (const std::string text :
       {"% asym positive\n1 2 1 10\n2 3 1 20\n", "# c\n1 2 10\n2 3 11\n", "u,i,ts,label\n0,2,0,0\n1,3,36,1\n",
        "txId1,txId2\n5,7\n", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"}) {
    folder.write("a_features.csv",
                 "\xEF\xBB\xBF"
                 "5,1,2\n7,1,3\n");
    const std::string marked = "\xEF\xBB\xBF" + text;
    EXPECT_EQ(read_events(folder.write("a_edgelist.csv", marked)).events(),
              read_events(folder.write("a_edgelist.csv", text)).events());
    EXPECT_GT(read_events(test::write_gzip(folder.file("a_edgelist.csv.gz"), marked)).events(), 0);
  }
  const std::string json = R"({"edges":[[0,1],[1,0]],"FX":[[1,2],[3,4],[5,6]]})";
  EXPECT_EQ(load_workload(folder.write("a.json", "\xEF\xBB\xBF" + json), Json::object(), 1).steps(), 3);
}

}  // namespace
}  // namespace strobe
