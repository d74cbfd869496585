// The scripts that check the source tree's rules must find violations, because a checker that never fails checks
// nothing.
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Rules : public Program {
 protected:
  void SetUp() override {
    if (std::system("command -v python3 > /dev/null") != 0) GTEST_SKIP() << "python3 is not there";
    for (const char* name : {"core", "backends", "models", "harness"})
      std::filesystem::create_directory(folder_ / name);
    write_text(folder_ / "core/low.hpp", "#pragma once\n");
    write_text(folder_ / "harness/high.hpp", "#include \"core/low.hpp\"\n");
  }

  Outcome check(const std::string& rule) {
    return finish(start({"python3", std::string(STROBE_SOURCE_DIR) + "/scripts/check_" + rule, folder_.string()}));
  }

  void expect_offence(const std::string& rule, const std::string& words) {
    const Outcome outcome = check(rule);
    EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(words), std::string::npos) << outcome.out << outcome.err;
  }
};

std::string function_of(int lines, const std::string& comment) {
  std::string text = "namespace a {\n" + comment + "int f(int x) {\n";
  for (int i = 0; i < lines - 2; ++i) text += "  x += 1;  // } {\n";
  return text + "}\n}\n";
}

TEST_F(Rules, ACleanTreePasses) {
  for (const char* rule : {"includes", "size", "clocks", "words"}) EXPECT_EQ(check(rule).status, 0) << rule;
}

TEST_F(Rules, IncludingUpwardsIsFound) {
  write_text(folder_ / "core/bad.cpp", "\n#include \"harness/high.hpp\"\n");
  expect_offence("includes", "core/bad.cpp:2");
}

TEST_F(Rules, IncludingAHigherRoomIsFound) {
  for (const char* room : {"schedule", "full_batch", "full_batch/plan", "event_batches", "attic"}) {
    std::filesystem::create_directories(folder_ / "harness" / room);
    write_text(folder_ / "harness" / room / "part.hpp", "#pragma once\n");
  }
  write_text(folder_ / "harness/full_batch/good.cpp", "#include \"harness/full_batch/plan/part.hpp\"\n");
  write_text(folder_ / "harness/full_batch/plan/good.cpp", "#include \"harness/schedule/part.hpp\"\n");
  EXPECT_EQ(check("includes").status, 0);
  write_text(folder_ / "harness/schedule/bad.cpp", "#include \"harness/full_batch/part.hpp\"\n");
  expect_offence("includes", "harness/schedule/bad.cpp:1: harness/schedule/ may not include");
  write_text(folder_ / "harness/schedule/bad.cpp", "");
  write_text(folder_ / "harness/full_batch/plan/bad.cpp", "#include \"harness/full_batch/part.hpp\"\n");
  expect_offence("includes", "harness/full_batch/plan/ may not include");
  write_text(folder_ / "harness/full_batch/plan/bad.cpp", "");
  write_text(folder_ / "harness/event_batches/bad.cpp", "#include \"harness/full_batch/plan/part.hpp\"\n");
  expect_offence("includes", "they are neighbours");
  write_text(folder_ / "harness/event_batches/bad.cpp", "");
  write_text(folder_ / "harness/attic/bad.cpp", "#include \"harness/schedule/part.hpp\"\n");
  expect_offence("includes", "harness/attic/ is in no list of rooms");
}

TEST_F(Rules, ATypeThatAFileDoesNotIncludeIsFound) {
  write_text(folder_ / "core/tree.hpp", "#pragma once\nstruct Tree {\n};\nenum class Kind { Oak };\n");
  write_text(folder_ / "core/wood.hpp", "#pragma once\n#include \"core/tree.hpp\"\nTree tree();\n");
  write_text(folder_ / "core/far.cpp", "#include \"core/wood.hpp\"\n// A Branch\nKind kind(Tree tree);\n");
  EXPECT_EQ(check("includes").status, 0);
  write_text(folder_ / "core/leaf.hpp", "#pragma once\nTree leaf();\n");
  expect_offence("includes", "core/leaf.hpp: names Tree and does not include core/tree.hpp");
  write_text(folder_ / "core/leaf.hpp", "#pragma once\nstruct Tree;\nTree& leaf();\n");
  EXPECT_EQ(check("includes").status, 0);
}

TEST_F(Rules, IncludingByAPathNotFromTheRootIsFound) {
  write_text(folder_ / "harness/bad.cpp", "#include \"high.hpp\"\n");
  expect_offence("includes", "harness/bad.cpp:1");
}

TEST_F(Rules, LongFunctionsAreFoundUnlessArgued) {
  write_text(folder_ / "models/f.cpp", function_of(40, ""));
  EXPECT_EQ(check("size").status, 0);
  write_text(folder_ / "models/f.cpp", function_of(41, ""));
  expect_offence("size", "models/f.cpp:2: the function has 41 lines");
  write_text(folder_ / "models/f.cpp", function_of(41, "// size: one table\n"));
  EXPECT_EQ(check("size").status, 0);
}

TEST_F(Rules, LongFilesAreFoundUnlessArgued) {
  write_text(folder_ / "models/long.cpp", std::string(401, '\n'));
  expect_offence("size", "models/long.cpp:1: the file has 401 lines");
  write_text(folder_ / "models/long.cpp", "// size: generated\n" + std::string(401, '\n'));
  EXPECT_EQ(check("size").status, 0);
}

TEST_F(Rules, FoldersWithTooManySourceFilesAreFound) {
  for (int i = 0; i < 40; ++i) write_text(folder_ / "models" / ("m" + std::to_string(i) + ".cpp"), "\n");
  for (int i = 0; i < 50; ++i) write_text(folder_ / "models" / ("m" + std::to_string(i) + ".json"), "{}\n");
  std::filesystem::create_directories(folder_ / "models/room");
  write_text(folder_ / "models/room/m.cpp", "\n");
  EXPECT_EQ(check("size").status, 0);
  write_text(folder_ / "models/m40.hpp", "\n");
  expect_offence("size", "models: the folder has 41 source files, at most 40 are allowed");
}

TEST_F(Rules, PathsInCommentsThatAreNotThereAreFound) {
  write_text(folder_ / "models/near.cpp",
             "// See core/tree.hpp, core/tree, core/*.hpp, core/NAME.hpp, core/{tree,leaf}.hpp.\n");
  write_text(folder_ / "core/tree.hpp", "\n");
  write_text(folder_ / "core/leaf.hpp", "int a = 0; const char* path = \"core/gone.hpp\";\n");
  EXPECT_EQ(check("size").status, 0);
  write_text(folder_ / "models/near.cpp", "\nint a;  // see core/{tree,gone}.hpp\n");
  expect_offence("size", "models/near.cpp:2: the comment names core/{tree,gone}.hpp, which is not there");
  write_text(folder_ / "models/near.cpp", "// As core/gone says.\n");
  expect_offence("size", "models/near.cpp:1: the comment names core/gone, which is not there");
}

TEST_F(Rules, ClocksOutsideBackendsAreFound) {
  write_text(folder_ / "backends/clock.cpp", "auto t = std::chrono::steady_clock::now();\n");
  EXPECT_EQ(check("clocks").status, 0);
  write_text(folder_ / "models/clock.cpp", "\nauto t = std::chrono::steady_clock::now();\n");
  expect_offence("clocks", "models/clock.cpp:2");
}

TEST_F(Rules, CalendarTimeNeedsItsPlaceAndReason) {
  std::filesystem::create_directory(folder_ / "results");
  write_text(folder_ / "results/date.cpp", "auto t = std::time(nullptr);  // calendar: written into env.json\n");
  EXPECT_EQ(check("clocks").status, 0);
  write_text(folder_ / "results/date.cpp", "auto t = std::time(nullptr);\n");
  expect_offence("clocks", "results/date.cpp:1");
}

TEST_F(Rules, ForbiddenTurnsInCommentsAreFound) {
  std::filesystem::create_directory(folder_ / "harness/new");
  const auto expect_turn = [&](const std::string& file, const std::string& text, const std::string& words) {
    write_text(folder_ / "harness/new" / file, text);
    expect_offence("words", "harness/new/" + file + words);
    write_text(folder_ / "harness/new" / file, "");
  };
  expect_turn("a.hpp", "int a;\n// A sum.\n// What the rows read.\n", ":3: comment 'What the rows read.'");
  expect_turn("a.hpp", "int a;  // Of packed sequences.\n", ":1: comment 'Of packed");
  expect_turn("a.cpp", "// A row that ends\n// behind the others.\n", ":2: comment 'beh");
  expect_turn("a.cpp", "// A row.\nconst char* a = \"one row, likewise\";\n", ":2: message 'like");
  expect_turn("a.py", "def f():\n    \"\"\"A sum.\n\n    What comes out.\"\"\"\n", ":4: comment 'What comes out.'");
  expect_turn("a.cmake", "set(A 1)  # By how many rows\n", ":1: comment 'By how");
  expect_turn("tool", "#!/bin/sh\n# Once anew\n", ":2: comment 'ane");
}

TEST_F(Rules, WordsOfProgramsAndPlainSentencesAreNoForbiddenTurns) {
  std::filesystem::create_directory(folder_ / "harness/new");
  write_text(folder_ / "harness/new/a.cpp",
             "// Copies are hidden behind kernels. What if there are none? Then nothing waits.\n"
             "// n stands for rows.\nconst char* behind = R\"(a behind b)\";\n");
  EXPECT_EQ(check("words").status, 0) << check("words").out;
}

TEST_F(Rules, AVectorThatIsReadAfterItsMoveIsFoundByClangTidy) {
  if (std::system("command -v clang-tidy-16 > /dev/null") != 0) GTEST_SKIP() << "clang-tidy-16 is not there";
  const auto tidy = [&](const std::string& last) {
    write_text(folder_ / "moved.cpp",
               "#include <utility>\n#include <vector>\nauto f(std::vector<int> a) {\n  auto b = std::move(a);\n  " +
                   last + "\n}\n");
    return finish(start_shell("STROBE_TIDY_DIR='" + path("tidy") +
                              "' exec '" STROBE_SOURCE_DIR "/scripts/check_tidy' '" + path("moved.cpp") + "'"));
  };
  const Outcome clean = tidy("return b.size();");
  EXPECT_EQ(clean.status, 0) << clean.out << clean.err;
  const Outcome moved = tidy("return a.size();");
  EXPECT_EQ(moved.status, 1) << moved.err;
  EXPECT_NE(moved.out.find("moved.cpp:5:10: warning: 'a' used after it was moved"), std::string::npos) << moved.out;
}

}  // namespace
}  // namespace strobe::cli_test
