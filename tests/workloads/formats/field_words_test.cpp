// Fields as readers understand them: blanks around them, numbers written in other ways, names of digits and hyphens,
// dates.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/ids/id_words.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

const char* const all_blanks[] = {
    " ", "\t", "  \t ", "\xC2\xA0", "\xE2\x80\x89", "\xE3\x80\x80", "\xEF\xBB\xBF", "\xE2\x80\x8B", " \xC2\xA0 "};

/// `text` with `blank` around every field between commas.
std::string with_blanks(const std::string& text, const std::string& blank) {
  std::string result = blank;
  for (const char c : text) {
    if (c == ',') result += blank + "," + blank;
    if (c == '\n') result += blank + "\n" + blank;
    if (c != ',' && c != '\n') result += c;
  }
  result.resize(result.size() - blank.size());  // after the last line
  return result;
}

TEST(Blanks, AroundFieldsMakeNoOtherVertices) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"csv", "source,target,time\nalice,bob,1\nbob,carol,5\ncarol,alice,9\n"},
      {"csv", "source,target,time,weight\n1,2,1,0.5\n2,1,5,2\n"},
      {"csv", "source,target,step\n\"a\",b,1\nb,a,2\n"},
      {"tgb", "day,src,dst,weight\n2020-01-01,KJFK,KLAX,1\n2020-01-02,KLAX,KJFK,1\n"},
      {"tgl", ",src,dst,time,ext_roll\n0,4,7,0.5,0\n1,7,7,9.0,2\n"},
      {"tgn", ",u,i,ts,label,idx\n0,4,5,0.0,0.0,1\n1,6,3,258552.0,0.0,2\n"},
      {"jodie", "u,i,ts,label\n0,8227,0,0\n1,8228,36,1\n"},
      {"movielens", "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,3.0,1260759179\n"},
      {"amlsim", "sourceNodeId,targetNodeId,value,time\n3,8,163.3,2\n8,3,0.5,1\n"},
      {"amlsim-dated", "orig_acct,bene_acct,base_amt,tran_timestamp,is_sar\n1,2,3.5,2017-01-01T00:00:00Z,True\n"},
      {"snap-signed", "6,2,4,1289241911.72836\n6,5,-10,1289241941\n"},
      {"network-repository", "48,13,1,926389620\n67,13,2.5,926418960\n"}};
  const TemporaryFolder folder;
  for (const auto& [format, text] : files) {
    const std::string name = format == "network-repository" ? "a.edges" : "a.csv";
    const EventGraph plain = read_events(folder.write(name, text));
    ASSERT_EQ(plain.provenance.format, format);
    for (const char* blank : all_blanks) {
      const EventGraph graph = read_events(folder.write(name, with_blanks(text, blank)));
      EXPECT_EQ(graph.provenance.format, format);
      EXPECT_EQ(graph.original_id, plain.original_id) << format << " '" << blank << "'";
      EXPECT_EQ(graph.source, plain.source) << format;
      EXPECT_EQ(graph.target, plain.target) << format;
      EXPECT_TRUE(graph.time == plain.time) << format;
      EXPECT_EQ(graph.weight, plain.weight) << format;
    }
  }
}

TEST(Blanks, AroundFieldsBetweenBlanks) {
  const TemporaryFolder folder;
  for (const char* blank : all_blanks) {
    const std::string b = blank;
    EXPECT_EQ(read_events(folder.write("a", "1 2 5\n" + b + "2 1 9" + b + "\n")).vertices, 2) << b;
    EXPECT_EQ(read_events(folder.write("out.a", "% asym positive\n1 2 1 5\n" + b + "2 1 1 9" + b + "\n")).vertices, 2);
  }
  try {  // a no-break space in the place of a blank between numbers separates nothing
    read_events(folder.write("a",
                             "1 2 5\n2\xC2\xA0"
                             "1 9 8\n"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.line(), 2u);
    EXPECT_EQ(error.column(), 1u);
  }
}

TEST(Blanks, WithinQuotesAreKept) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_events(folder.write("a.csv", "source,target,time\n\" alice\",alice,1\n \"alice\" ,bob,2\n")).vertices,
            3);
  EXPECT_EQ(without_blanks(" a b\t"), "a b");
  EXPECT_EQ(header_names(" source , target,\xC2\xA0time"), "source,target,time");
}

std::string refusal(const std::string& path, const std::string& format, std::uint64_t line, std::uint64_t column) {
  try {
    const EventGraph graph = read_events(path, format);
    return "accepted with " + std::to_string(graph.vertices) + " vertices";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.line(), line) << error.what();
    EXPECT_EQ(error.column(), column) << error.what();
    return error.what();
  }
}

TEST(IdWords, NumbersWrittenInOtherWaysAreNeverNames) {
  const TemporaryFolder folder;
  const std::string header = "source,target,time\n", reason = "is not a whole number";
  for (const char* odd : {"1.0", "2.", ".5", "1e3", "+1", "0x10", "1E0", "-1.5"}) {
    const std::string word = odd;
    for (const auto& [row, column] :
         std::vector<std::pair<std::string, std::uint64_t>>{{word + ",2,0\n", 1}, {"7," + word + ",0\n", 3}}) {
      EXPECT_NE(refusal(folder.write("a.csv", header + row + "0,1,1\n"), "", 2, column).find(reason), std::string::npos)
          << row;
      EXPECT_NE(refusal(folder.write("b.csv", header + "0,1,1\n" + row), "", 3, column).find(reason), std::string::npos)
          << row;
    }
    EXPECT_NE(refusal(folder.write("c", word + " 2 5\n1 2 6\n"), "snap", 1, 1).find(reason), std::string::npos);
    EXPECT_NE(refusal(folder.write("d", "% asym\n1 2\n" + word + " 2\n"), "konect", 3, 1).find(reason),
              std::string::npos);
    EXPECT_NE(refusal(folder.write("e", "u,i,ts,label\n" + word + ",2,3,0\n"), "jodie", 2, 1).find(reason),
              std::string::npos);
  }
  const EventGraph zeros = read_events(folder.write("f.csv", header + "007,2,0\n7,1,1\n"));
  EXPECT_EQ(zeros.original_id, (std::vector<std::int64_t>{1, 2, 7})) << "007 is the number 7";
}

TEST(IdWords, NamesOfOneNumberAreRefused) {
  const TemporaryFolder folder;
  const std::string reason = "one number written in two ways";
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"2.0", "2"}, {"2", "2.0"}, {"1e3", "1000"}, {"007", "7"}, {"+5", "5"}, {"0x10", "16"}, {"2.0", "2.00"}}) {
    EXPECT_NE(
        refusal(folder.write("a.csv", "source,target,time\n" + a + ",bob,0\nbob," + b + ",1\n"), "", 3, 5).find(reason),
        std::string::npos)
        << a << ' ' << b;
    EXPECT_NE(
        refusal(folder.write("b.csv", "ts,src,dst\n0," + a + ",bob\n1,bob," + b + "\n"), "tgb", 3, 7).find(reason),
        std::string::npos)
        << a << ' ' << b;
  }
  const std::string long_hex(40, 'a');
  const EventGraph names = read_events(folder.write("c.csv", "source,target,time\nbob,2.0,0\n1e4,10,1\n0x" + long_hex +
                                                                 ",0e12,2\n00e12,12345678901234567890,3\n"
                                                                 "a,12345678901234567891,4\n"));
  EXPECT_EQ(names.vertices, 10) << "names that look like numbers, each of another one";
  EXPECT_TRUE(any_note(names, "vertices have names"));
}

TEST(IdWords, NamesOfDigitsAndHyphensAreNames) {
  const TemporaryFolder folder;
  for (const char* rows : {"10-01,10-02,1\n10-02,10-03,5\n", "555-0100,555-0101,1\n555-0101,555-0102,2\n",
                           "2016-01-31,2016-02-01,1\n2016-02-01,5,2\n", "1-,-,1\n--1,1-,2\n"}) {
    const EventGraph graph = read_events(folder.write("a.csv", std::string("source,target,time\n") + rows));
    EXPECT_EQ(graph.vertices, 3) << rows;
    EXPECT_TRUE(any_note(graph, "vertices have names"));
  }
  EXPECT_NE(
      refusal(folder.write("b.csv", "source,target,time\n1,2,1\n10-01,2,5\n"), "", 3, 1).find("vertices with names"),
      std::string::npos);
  EXPECT_TRUE(is_plain_whole("-12"));
  EXPECT_FALSE(is_plain_whole("1-2") || is_plain_whole("-") || is_plain_whole(""));
  EXPECT_FALSE(is_like_number("nan") || is_like_number("inf") || is_like_number("1e") || is_like_number("."));
}

TEST(Dates, WithoutHyphensAreReadAsDays) {
  const TemporaryFolder folder;
  const EventGraph days =
      read_events(folder.write("a.csv", "source,target,time\na,b,20160131\nb,c,20160201\nc,a,20160301\n"));
  EXPECT_EQ(days.time, (std::vector<double>{1454198400, 1454284800, 1456790400}));
  EXPECT_TRUE(days.dated);
  EXPECT_TRUE(any_note(days, "20160131 to 20160301, and were read as the days 2016-01-31 to 2016-03-01"));
  const SnapshotGraph steps = load_workload(folder.file("a.csv"), {{"window", "1d"}}, 1);
  EXPECT_EQ(steps.steps(), 31);
  const EventGraph snap = read_events(folder.write("b", "1 2 20160229\n2 1 20151231\n"));
  EXPECT_EQ(snap.time, (std::vector<double>{1451520000, 1456704000}));
}

TEST(Dates, ThatOnlyLookSoStaySecondsWithANote) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& times) {
    std::string text = "source,target,time\n";
    for (std::size_t at = 0; at < times.size(); at += times.find(' ', at) - at + 1)
      text += "1,2," + times.substr(at, times.find(' ', at) - at) + "\n";
    return read_events(folder.write("a.csv", text));
  };
  std::string nearly;
  for (int day = 10; day < 30; ++day) nearly += "201601" + std::to_string(day) + " ";
  const EventGraph wrong = read(nearly + "20160231 ");
  EXPECT_EQ(wrong.time[0], 20160110);
  EXPECT_TRUE(any_note(wrong, "but 20160231 is none, so they were read as seconds"));
  const EventGraph years = read("2001 2004 2010 ");
  EXPECT_EQ(years.time[2], 2010);
  EXPECT_TRUE(any_note(years, "years must be written as dates"));
  const EventGraph months = read("200112 200201 201010 ");
  EXPECT_EQ(months.time[1], 200201);
  EXPECT_TRUE(any_note(months, "months must be written as dates"));
  for (const char* seconds : {"5 2004 ", "1500000000 1500000100 ", "19000000 20160131 ", "20160131.5 20160201 "})
    EXPECT_FALSE(any_note(read(seconds), "read as")) << seconds;
  const EventGraph stepped = read_events(folder.write("b.csv", "source,target,step\n1,2,20160131\n1,2,20160201\n"));
  EXPECT_EQ(stepped.time[0], 20160131);
}

TEST(Columns, ThatAreGuessedAreNoted) {
  const TemporaryFolder folder;
  const EventGraph equal = read_events(folder.write("a.txt", "1 2 1\n1 3 1\n1 4 1\n"));
  EXPECT_EQ(equal.provenance.format, "snap");
  EXPECT_TRUE(any_note(equal, "columns were taken as source, target, time; all times are 1, as weights"));
  EXPECT_TRUE(
      any_note(read_events(folder.write("b.txt", "1 2 1\n1 3 4\n1 4 1\n")), "2 different small numbers, 1 to 4"));
  const EventGraph real = read_events(folder.write("c.txt", "1 2 1082040961\n1 3 1082155839\n"));
  EXPECT_TRUE(any_note(real, "columns were taken as source, target, time"));
  EXPECT_FALSE(any_note(real, "weights"));
  EXPECT_TRUE(any_note(read_events(folder.write("d.edges", "1 2 1\n1 3 5\n")), "2 different small numbers, 1 to 5"));
}

}  // namespace
}  // namespace strobe
