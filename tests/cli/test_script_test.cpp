// scripts/test before it builds anything, and the tests that it finds for a change.
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

const std::string scripts = std::string(STROBE_SOURCE_DIR) + "/scripts/";

/// A build folder of two programs. Stand-ins for Ninja and CTest describe it.
class TestScript : public Program {
 protected:
  void SetUp() override {
    if (std::system("command -v python3 > /dev/null") != 0) GTEST_SKIP() << "python3 is not there";
    for (const char* name : {"bin", "build/tests"}) std::filesystem::create_directories(folder_ / name);
    for (const char* name : {"build/tests/test_one", "build/tests/test_two"}) write_text(folder_ / name, "");
    const std::string tree = STROBE_SOURCE_DIR;
    stand_in("ninja", "case \"$*\" in\n*deps*) echo 'one.o: #deps 2, deps mtime 1 (VALID)'; echo '    " + tree +
                          "/core/shared.hpp'; echo '    " + tree + "/core/one.cpp'; echo;\n" +
                          "echo 'two.o: #deps 1, deps mtime 1 (VALID)'; echo '    " + tree + "/core/shared.hpp' ;;\n" +
                          "*test_one*) echo one.o ;;\n*) echo two.o ;;\nesac\n");
    Json tests = Json::array();
    for (const std::string name : {"one", "two"})
      tests.push_back({{"name", name + ".A"}, {"command", {path("build/tests/test_" + name), "--gtest_filter=A"}}});
    tests.push_back({{"name", "rules.size"}, {"command", {"python3"}}});
    tests.push_back({{"name", "cli.Rules.A"}, {"command", {"program"}}});
    stand_in("ctest", "cat <<'END'\n" + Json{{"tests", tests}}.dump() + "\nEND\n");
  }

  void stand_in(const std::string& name, const std::string& text) {
    write_text(folder_ / "bin" / name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(folder_ / "bin" / name, std::filesystem::perms::owner_all);
  }

  /// The numbers of the tests that these files reach, after three zeros for the start, end and stride of ctest -I.
  std::string reached(const std::string& files) {
    const Outcome found = finish(start_shell("export PATH='" + path("bin") + "':$PATH && cd '" + folder_.string() +
                                             "' && printf '" + files + "' | '" + scripts + "reached_tests' build out"));
    EXPECT_EQ(found.status, 0) << found.err;
    return read_text(folder_ / "out");
  }
};

TEST_F(TestScript, AChangeReachesWhatIsBuiltFromItAndTheRules) {
  EXPECT_EQ(reached("core/one.cpp\\n"), "0,0,0,1,3\n");
  EXPECT_EQ(reached("core/shared.hpp\\n"), "0,0,0,1,2,3\n");
}

TEST_F(TestScript, DocumentsAndScriptsReachTheRulesAndTheTestsOfScripts) {
  EXPECT_EQ(reached("docs/tutorial.md\\nscripts/test\\n"), "0,0,0,3,4\n");
  EXPECT_EQ(reached(""), "0,0,0,3\n");
}

TEST_F(TestScript, WhatNobodyRecordedReachesItsTestFolderOrEverything) {
  EXPECT_EQ(reached("tests/two/case.json\\n"), "0,0,0,2,3\n");
  EXPECT_EQ(reached("workloads/data/set.csv\\n"), "0,0,0,1,2,3,4\n");
  EXPECT_EQ(reached("core/one.cpp\\nCMakeLists.txt\\n"), "0,0,0,1,2,3,4\n");
}

TEST_F(TestScript, WrongOptionsAreRefusedBeforeAnythingIsBuilt) {
  for (const auto& [options, words] :
       std::vector<std::pair<std::string, std::string>>{{"--nonesuch", "--changed"},
                                                        {"--sanitize nonesuch", "nonesuch"},
                                                        {"--build-only --changed", "--build-only"},
                                                        {"--changed=nonesuch", "nonesuch"}}) {
    const Outcome refused = finish(start_shell("exec '" + scripts + "test' " + options));
    EXPECT_EQ(refused.status, 2) << options << refused.err;
    EXPECT_NE(refused.err.find(words), std::string::npos) << options << refused.err;
  }
  const Outcome refused = finish(start_shell("exec '" + scripts + "fuzz' --minutes never"));
  EXPECT_EQ(refused.status, 2) << refused.err;
}

}  // namespace
}  // namespace strobe::cli_test
