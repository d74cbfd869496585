// Communicator nccl with one process per rank. NCCL's emulation does not reach across processes, so these tests end
// before NCCL starts, or have one rank. They show how processes meet, what they refuse, and that all end with one
// status.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/communicator.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

/// Run by the processes that the tests below start: launches, and writes the outcome to STROBE_TEST_ANSWER.
TEST(NcclProcess, DISABLED_Rank) {
  const CommunicatorTag::Value& nccl = CommunicatorRegistry::instance().find("nccl").value;
  LaunchRequest request;
  request.ranks = std::atoi(std::getenv("STROBE_TEST_RANKS"));
  request.timeout_seconds = 5;
  request.make_device = DeviceRegistry::instance().find("cuda").value;
  const std::string fault = std::getenv("STROBE_TEST_FAULT") == nullptr ? "" : std::getenv("STROBE_TEST_FAULT");
  if (fault == "no device") request.make_device = DeviceRegistry::instance().find("cpu").value;
  std::ofstream answer(std::getenv("STROBE_TEST_ANSWER"));
  answer << nccl.world_size() << " " << nccl.process_rank() << " ";
  try {
    for (int launch = 0; launch < 2; ++launch) {
      nccl.launch(request, [&](Device&, Communicator& c) {
        c.barrier();
        if (fault == "throws") throw InvalidInput("graph.csv", 3, 1, "deliberate");
      });
    }
    answer << "well";
  } catch (const Unavailable& error) {
    answer << "Unavailable " << error.what();
  } catch (const InvalidRequest& error) {
    answer << "InvalidRequest " << error.what();
  } catch (const InvalidInput& error) {
    answer << "InvalidInput " << error.what();
  } catch (const std::exception& error) {
    answer << "other " << error.what();
  }
}

struct Child {
  std::vector<std::pair<std::string, std::string>> environment;
  std::string answer_file;
  pid_t process = 0;
};

void start(Child& child, int ranks, const fs::path& folder, std::size_t number) {
  child.answer_file = (folder / fmt::format("answer-{}", number)).string();
  child.process = ::fork();
  ASSERT_GE(child.process, 0);
  if (child.process != 0) return;
  for (const char* inherited : {"OMPI_COMM_WORLD_RANK", "SLURM_STEP_ID", "MASTER_ADDR", "RANK", "WORLD_SIZE"}) {
    ::unsetenv(inherited);
  }
  for (const auto& [name, value] : child.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("STROBE_TEST_ANSWER", child.answer_file.c_str(), 1);
  ::setenv("STROBE_TEST_RANKS", std::to_string(ranks).c_str(), 1);
  const std::string output = child.answer_file + ".out";
  if (std::freopen(output.c_str(), "w", stdout) == nullptr) ::_exit(1);
  ::execl("/proc/self/exe", "test_nccl", "--gtest_also_run_disabled_tests", "--gtest_filter=NcclProcess.DISABLED_Rank",
          static_cast<char*>(nullptr));
  ::_exit(1);
}

/// Runs the processes, requesting `ranks` ranks, and returns their answers.
std::vector<std::string> run(std::vector<Child> children, int ranks) {
  std::string name = (fs::temp_directory_path() / "strobe-processes-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  for (std::size_t number = 0; number < children.size(); ++number) start(children[number], ranks, name, number);
  std::vector<std::string> answers;
  for (const Child& child : children) {
    int status = 0;
    EXPECT_EQ(::waitpid(child.process, &status, 0), child.process);
    std::stringstream text;
    text << std::ifstream(child.answer_file).rdbuf();
    answers.push_back(text.str());
  }
  fs::remove_all(name);
  return answers;
}

int free_port() {
  const int holder = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(holder, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(holder);
  return ntohs(address.sin_port);
}

/// Processes as torchrun starts them, each with a GPU of its own.
std::vector<Child> torch_world(int size) {
  const std::string port = std::to_string(free_port());
  std::vector<Child> children(size);
  for (int rank = 0; rank < size; ++rank) {
    children[rank].environment = {{"RANK", std::to_string(rank)},
                                  {"WORLD_SIZE", std::to_string(size)},
                                  {"LOCAL_RANK", std::to_string(rank)},
                                  {"MASTER_ADDR", "127.0.0.1"},
                                  {"MASTER_PORT", "1"},
                                  {"STROBE_NCCL_PORT", port},
                                  {"STROBE_EMULATED_GPU", fmt::format("GPU {} of host a", rank)}};
  }
  return children;
}

TEST(NcclProcesses, AWorldOfOneLaunchesTwice) {
  const auto answers = run(torch_world(1), 1);
  EXPECT_EQ(answers[0], "1 0 well");
}

TEST(NcclProcesses, TheCauseKeepsItsTypeAndMessage) {
  std::vector<Child> world = torch_world(1);
  world[0].environment.push_back({"STROBE_TEST_FAULT", "throws"});
  EXPECT_EQ(run(world, 1)[0], "1 0 InvalidInput graph.csv:3:1: deliberate");
}

TEST(NcclProcesses, AnotherNumberOfRanksThanTheWorldsIsRefused) {
  const std::string answer = run(torch_world(1), 3)[0];
  EXPECT_NE(answer.find("Unavailable communicator nccl: 3 ranks were asked for, but torchrun started 1"),
            std::string::npos)
      << answer;
}

TEST(NcclProcesses, TwoRanksOnOneGpuAreNamedToAll) {
  std::vector<Child> world = torch_world(3);
  world[2].environment.back().second = "GPU 1 of host a";
  const auto answers = run(world, 3);
  for (int rank = 0; rank < 3; ++rank) {
    const std::string& answer = answers[rank];
    const std::string wanted =
        fmt::format("3 {} Unavailable communicator nccl: ranks 1 and 2 have the same GPU 1", rank);
    EXPECT_EQ(answer.substr(0, wanted.size()), wanted);
  }
}

TEST(NcclProcesses, ARankWithoutADeviceEndsAllWithItsCause) {
  std::vector<Child> world = torch_world(3);
  world[1].environment.push_back({"STROBE_TEST_FAULT", "no device"});
  const auto answers = run(world, 3);
  for (const std::string& answer : answers) {
    EXPECT_NE(answer.find("InvalidRequest --comm: nccl moves the memory of GPUs"), std::string::npos) << answer;
  }
}

}  // namespace
}  // namespace strobe
