// scripts/fetch_dataset against a server on the loopback: whole, interrupted, changed, wrong and missing files.
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class Fetch : public Program {
 protected:
  void SetUp() override {
    if (std::system("command -v python3 > /dev/null") != 0) GTEST_SKIP() << "python3 is not there";
    fs::create_directory(folder_ / "mirror");
  }
  void TearDown() override {
    if (server_in_ >= 0) close(server_in_);  // the server ends when its standard input closes
    if (server_ > 0) waitpid(server_, nullptr, 0);
  }

  /// Starts the server and waits for its port. `options` are the server's.
  void serve(const std::string& options = "") {
    int in[2], out[2];
    ASSERT_EQ(pipe2(in, 02000000) + pipe2(out, 02000000), 0);  // O_CLOEXEC: no other child keeps the pipes open
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    std::string shell = "/bin/sh", option = "-c";
    std::string text = "exec python3 '" + std::string(STROBE_TEST_DIR) + "/cli/support/range_server.py' '" +
                       path("mirror") + "' '" + path("requests") + "' " + options;
    char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};
    ASSERT_EQ(posix_spawn(&server_, "/bin/sh", &files, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(in[0]), close(out[1]);
    server_in_ = in[1];
    char text_port[16] = {};
    ASSERT_GT(read(out[0], text_port, sizeof text_port - 1), 0) << "the server did not start";
    close(out[0]);
    port_ = std::atoi(text_port);
  }

  Outcome fetch(const std::string& arguments, const std::string& data = "data") {
    return finish(start_shell("cd '" + folder_.string() + "' && export no_proxy=127.0.0.1 STROBE_DATA_DIR='" +
                              path(data) + "' STROBE_MIRROR=http://127.0.0.1:" + std::to_string(port_) + " && exec '" +
                              STROBE_SOURCE_DIR + "/scripts/fetch_dataset' " + arguments));
  }

  /// A file that the mirror serves.
  void offer(const std::string& name, const std::string& content) {
    fs::create_directories((folder_ / "mirror" / name).parent_path());
    write_text(folder_ / "mirror" / name, content);
  }

  /// Packs files of the folder `packed` with a module of Python's library.
  void pack(const std::string& module, const std::string& archive,
            const std::vector<std::pair<std::string, std::string>>& files) {
    for (const auto& [name, content] : files) {
      fs::create_directories((folder_ / "packed" / name).parent_path());
      write_text(folder_ / "packed" / name, content);
    }
    fs::create_directories((folder_ / "mirror" / archive).parent_path());
    const Outcome packed = finish(start_shell("cd '" + path("packed") + "' && python3 -m " + module + " -c '" +
                                              path("mirror/" + archive) + "' *"));
    ASSERT_EQ(packed.status, 0) << packed.err;
  }

  std::string fetched(const std::string& name) const { return read_text(folder_ / "data" / name); }
  std::string requests() const { return read_text(folder_ / "requests"); }

  pid_t server_ = 0;
  int server_in_ = -1, port_ = 1;
};

std::string noise(std::size_t size) {
  std::mt19937 random(1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

const std::string messages = "1 2 1082040961\n3 4 1082155839\n";
constexpr const char* college = "CollegeMsg/CollegeMsg.txt.gz";

TEST_F(Fetch, AFileIsFetchedOnceAndReadByItsName) {
  serve();
  offer(college, messages);
  const Outcome first = fetch("CollegeMsg");
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, path("data/" + std::string(college)) + "\n");
  EXPECT_NE(first.err.find("terms: no licence stated"), std::string::npos) << first.err;
  EXPECT_EQ(fetched(college), messages);
  const Json source = read_json(folder_ / "data/CollegeMsg/SOURCE.json");
  EXPECT_EQ(source.at("files").at("CollegeMsg.txt.gz").at("download_bytes"), messages.size());
  EXPECT_EQ(source.at("files").at("CollegeMsg.txt.gz").at("download_sha256").get<std::string>().size(), 64u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "data/CollegeMsg"), {}), 2) << "nothing is left over";
  const Outcome second = fetch("CollegeMsg");
  EXPECT_EQ(second.status, 0);
  EXPECT_NE(second.err.find("is there already"), std::string::npos);
  EXPECT_EQ(requests(), "/CollegeMsg/CollegeMsg.txt.gz - 200\n");
  const Outcome seen = finish(
      start_shell("STROBE_DATA_DIR='" + path("data") + "' exec '" + STROBE_BINARY + "' inspect CollegeMsg --json"));
  ASSERT_EQ(seen.status, 0) << seen.err;
  EXPECT_EQ(Json::parse(seen.out).at("vertices"), 4);
}

TEST_F(Fetch, ADroppedConnectionIsResumed) {
  serve("--drop-after 1200000");
  const std::string content = noise(3000000);
  offer(college, content);
  const Outcome outcome = fetch("CollegeMsg");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(fetched(college) == content);
  EXPECT_EQ(requests(), "/CollegeMsg/CollegeMsg.txt.gz - 200\n/CollegeMsg/CollegeMsg.txt.gz bytes=1200000- 206\n");
}

TEST_F(Fetch, AnInterruptedDownloadIsResumedByTheNextCall) {
  serve("--drop-after 1200000");
  const std::string content = noise(3000000);
  offer(college, content);
  const Outcome first = fetch("CollegeMsg --tries 1");
  EXPECT_EQ(first.status, 1);
  EXPECT_NE(first.err.find("1200000 of 3000000 bytes, which are kept; call again to resume"), std::string::npos)
      << first.err;
  EXPECT_FALSE(fs::exists(folder_ / "data" / college));
  const Outcome second = fetch("CollegeMsg");
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_NE(second.err.find("resuming at 1.2 MB"), std::string::npos) << second.err;
  EXPECT_TRUE(fetched(college) == content);
}

TEST_F(Fetch, AFileThatChangedMeanwhileStartsAgain) {
  serve("--drop-after 1200000");
  offer(college, noise(3000000));
  EXPECT_EQ(fetch("CollegeMsg --tries 1").status, 1);
  const std::string content = noise(2000000) + "new";
  offer(college, content);
  ASSERT_EQ(fetch("CollegeMsg").status, 0);
  EXPECT_TRUE(fetched(college) == content);
  EXPECT_NE(requests().find("bytes=1200000- 200"), std::string::npos) << requests();
}

TEST_F(Fetch, AServerWithoutRangesStartsAgain) {
  serve("--drop-after 1200000 --no-ranges");
  const std::string content = noise(3000000);
  offer(college, content);
  ASSERT_EQ(fetch("CollegeMsg").status, 0);
  EXPECT_TRUE(fetched(college) == content);
}

TEST_F(Fetch, AWholePartOfAKilledCallIsNotFetchedAgain) {
  serve("--drop-after 1200000");
  const std::string content = noise(3000000);
  offer(college, content);
  EXPECT_EQ(fetch("CollegeMsg --tries 1").status, 1);
  write_text(folder_ / "data/CollegeMsg/CollegeMsg.txt.gz.part", content);  // killed after the last byte was written
  ASSERT_EQ(fetch("CollegeMsg").status, 0);
  EXPECT_TRUE(fetched(college) == content);
  EXPECT_NE(requests().find("bytes=3000000- 416"), std::string::npos) << requests();
}

TEST_F(Fetch, AnotherChecksumIsRefusedUnlessAllowed) {
  serve();
  offer("jodie-wikipedia/wikipedia.csv", "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n");
  const Outcome outcome = fetch("jodie-wikipedia");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("the catalogue says a6b73e09"), std::string::npos) << outcome.err;
  EXPECT_TRUE(!fs::exists(folder_ / "data/jodie-wikipedia/wikipedia.csv"));
  EXPECT_TRUE(!fs::exists(folder_ / "data/jodie-wikipedia/wikipedia.csv.part")) << "what is wrong is not resumed";
  EXPECT_EQ(fetch("jodie-wikipedia --allow-changed").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "data/jodie-wikipedia/wikipedia.csv"));
}

TEST_F(Fetch, AMissingFileNamesTheSourcePage) {
  serve();
  const Outcome outcome = fetch("sx-stackoverflow soc-bitcoin");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("404"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("by hand from https://snap.stanford.edu/data/sx-stackoverflow.html"), std::string::npos);
  EXPECT_NE(outcome.err.find("was not seen in use"), std::string::npos) << "soc-bitcoin is tried, too";
}

TEST_F(Fetch, NoServerIsAFailureThatCanBeRepeated) {
  const Outcome outcome = fetch("CollegeMsg --tries 2");  // nothing listens on port 1
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("trying again"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("call again to resume"), std::string::npos);
}

TEST_F(Fetch, AFolderThatCannotBeWrittenIsNamed) {
  serve();
  offer(college, messages);
  write_text(folder_ / "file", "not a folder");
  const Outcome blocked = fetch("CollegeMsg", "file");
  EXPECT_EQ(blocked.status, 1);
  EXPECT_NE(blocked.err.find("cannot write " + path("file")), std::string::npos) << blocked.err;
  if (geteuid() == 0) return;  // root may write everywhere
  fs::create_directory(folder_ / "locked");
  fs::permissions(folder_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome locked = fetch("CollegeMsg", "locked");
  EXPECT_EQ(locked.status, 1);
  EXPECT_NE(locked.err.find("Permission denied"), std::string::npos) << locked.err;
}

TEST_F(Fetch, ArchivesGiveTheWantedFileOnly) {
  serve();
  pack("zipfile", "soc-flickr-growth/soc-flickr-growth.zip",
       {{"readme.html", "<p>"}, {"soc-flickr-growth.edges", "1 2 1 5\n2 3 1 9\n"}});
  ASSERT_EQ(fetch("soc-flickr-growth").status, 0);
  EXPECT_EQ(fetched("soc-flickr-growth/soc-flickr-growth.edges"), "1 2 1 5\n2 3 1 9\n");
  EXPECT_TRUE(!fs::exists(folder_ / "data/soc-flickr-growth/readme.html"));
  fs::remove_all(folder_ / "packed");
  pack("tarfile", "konect-flickr-growth/download.tsv.flickr-growth.tar.bz2",
       {{"flickr-growth/out.flickr-growth", "% asym positive\n1 2 1 5\n"}, {"flickr-growth/README", "text"}});
  const Outcome outcome = fetch("konect-flickr-growth");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(fetched("konect-flickr-growth/out.flickr-growth"), "% asym positive\n1 2 1 5\n");
}

TEST_F(Fetch, TwoFilesOfOneArchiveAreOneDownload) {
  serve();
  pack("zipfile", "movielens-25m/ml-25m.zip",
       {{"ml-25m/ratings.csv", "userId,movieId,rating,timestamp\n"}, {"ml-25m/movies.csv", "movieId,title,genres\n"}});
  const Outcome outcome = fetch("movielens-25m");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(fetched("movielens-25m/ratings.csv"), "userId,movieId,rating,timestamp\n");
  EXPECT_EQ(fetched("movielens-25m/movies.csv"), "movieId,title,genres\n");
  EXPECT_EQ(requests(), "/movielens-25m/ml-25m.zip - 200\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "data/movielens-25m"), {}), 3) << "with SOURCE.json";
}

TEST_F(Fetch, ArchivesThatAreNoneOrLackTheFileAreRefused) {
  serve();
  offer("soc-bitcoin/soc-bitcoin.zip", "<html>moved</html>");
  const Outcome page = fetch("soc-bitcoin");
  EXPECT_EQ(page.status, 1);
  EXPECT_NE(page.err.find("the zip archive cannot be unpacked"), std::string::npos) << page.err;
  pack("zipfile", "soc-youtube-growth/soc-youtube-growth.zip", {{"readme.html", "<p>"}});
  const Outcome other = fetch("soc-youtube-growth");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("nothing in the archive is called *.edges: readme.html"), std::string::npos) << other.err;
}

TEST_F(Fetch, RequestsThatAreWrongNameTheNearest) {
  EXPECT_EQ(
      fetch("--list").out,
      finish(start_shell("cd '" STROBE_SOURCE_DIR "/workloads/catalog' && ls *.json | sed 's/.json//' | LC_ALL=C sort"))
          .out);
  expect_refusal(fetch("soc-flikr-growth"), 2,
                 {"unknown data set 'soc-flikr-growth'", "did you mean 'soc-flickr-growth'?"});
  expect_refusal(fetch(""), 2, {"fetch what?"});
  expect_refusal(fetch("CollegeMsg --tries 0"), 2, {"--tries"});
}

}  // namespace
}  // namespace strobe::cli_test
