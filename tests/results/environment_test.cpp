#include "results/run/environment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backends/communicator.hpp"

namespace strobe {
namespace {

TEST(Environment, RecordsAllKnownFacts) {
  const Json recorded = environment();
  for (const char* key : {"arguments", "date_utc", "host", "kernel", "host_class", "cpu", "memory_bytes", "gpus",
                          "load", "build", "versions", "source", "variables"}) {
    EXPECT_TRUE(recorded.contains(key)) << key;
  }
  EXPECT_NE(recorded["arguments"][0].get<std::string>().find("test_results"), std::string::npos);
  EXPECT_GE(recorded["cpu"]["cores"].get<int>(), recorded["cpu"]["cores_allowed"].get<int>());
  EXPECT_GE(recorded["cpu"]["cores_allowed"].get<int>(), recorded["cpu"]["cores_usable"].get<int>());
  EXPECT_TRUE(recorded["cpu"].contains("cores_of_container"));
  EXPECT_GT(recorded["memory_bytes"].get<std::uint64_t>(), 1u << 20);
  EXPECT_GE(recorded["memory_bytes"].get<std::uint64_t>(), recorded["memory_bytes_usable"].get<std::uint64_t>());
  EXPECT_TRUE(recorded.contains("memory_bytes_of_container"));
  EXPECT_EQ(recorded["date_utc"].get<std::string>().size(), 20u);
  EXPECT_FALSE(recorded["build"]["compiler"].get<std::string>().empty());
  EXPECT_FALSE(recorded["build"]["flags"].is_null()) << "the build did not pass STROBE_COMPILE_FLAGS";
  for (const char* library : {"fmt", "nlohmann_json", "zlib", "openssl"}) {
    EXPECT_FALSE(recorded["versions"][library].get<std::string>().empty()) << library;
  }
  if (!recorded["source"]["git_sha"].is_null()) {
    EXPECT_EQ(recorded["source"]["git_sha"].get<std::string>().find_first_not_of("0123456789abcdef"),
              std::string::npos);
    EXPECT_TRUE(recorded["source"]["dirty"].is_boolean());
  }
}

TEST(Environment, NamesTheMpiLibraryWhenItIsCompiledIn) {
  const Json version = environment()["versions"]["mpi"];
  if (CommunicatorRegistry::instance().contains("mpi")) {
    ASSERT_TRUE(version.is_string());
    EXPECT_GT(version.get<std::string>().size(), 4u);
  } else {
    EXPECT_TRUE(version.is_null());
  }
}

TEST(Environment, OnlyAllowedVariablesAreTaken) {
  ::setenv("STROBE_TEST_VARIABLE", "seen", 1);
  ::setenv("SOME_SECRET_TOKEN", "hidden", 1);
  const std::string text = environment()["variables"].dump();
  ::unsetenv("STROBE_TEST_VARIABLE");
  ::unsetenv("SOME_SECRET_TOKEN");
  EXPECT_NE(text.find("\"STROBE_TEST_VARIABLE\":\"seen\""), std::string::npos);
  EXPECT_EQ(text.find("SOME_SECRET_TOKEN"), std::string::npos);
  EXPECT_EQ(text.find("\"PATH\""), std::string::npos);
}

TEST(Environment, HostClassIsStable) {
  EXPECT_EQ(host_class(), host_class());
  EXPECT_EQ(host_class()["fingerprint"].get<std::string>().size(), 12u);
  EXPECT_EQ(environment()["host_class"], host_class());
}

TEST(Environment, ASourceWithoutGitHasTheRevisionThatItsBundleStates) {
  const std::string tree = fmt::format("{}/a_tree_without_git-{}", testing::TempDir(), getpid());
  EXPECT_EQ(source_revision(tree, ""), Json({{"git_sha", nullptr}, {"dirty", nullptr}, {"changes_sha256", nullptr}}));
  const Json clean = source_revision(tree, "0123abcd"), dirty = source_revision(tree, "0123abcd-dirty");
  EXPECT_EQ(clean["git_sha"], "0123abcd");
  EXPECT_EQ(clean["dirty"], false);
  EXPECT_EQ(clean["stated_by"], "bundle");
  EXPECT_EQ(dirty["git_sha"], "0123abcd");
  EXPECT_EQ(dirty["dirty"], true);
}

}  // namespace
}  // namespace strobe
