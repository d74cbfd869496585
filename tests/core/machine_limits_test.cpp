// Limits of control groups read from trees of files as the kernel shows them, and cores divided by hand.
#include "core/system/machine_limits.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace strobe {
namespace {

namespace fs = std::filesystem;

/// A separate root for /proc and /sys.
class Groups : public ::testing::Test {
 protected:
  Groups() {
    std::string pattern = (fs::temp_directory_path() / "strobe-groups-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = pattern;
  }
  ~Groups() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  void version2(const std::string& group, const std::string& mounted_root = "/") {
    write("/proc/self/cgroup", "0::" + group + "\n");
    write("/proc/self/mountinfo", "24 1 0:22 / /proc rw - proc proc rw\n30 24 0:26 " + mounted_root +
                                      " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }

  void version1(const std::string& group, const std::string& mounted_root) {
    write("/proc/self/cgroup", "9:memory:" + group + "\n4:cpu,cpuacct:" + group + "\n2:cpuset:/\n1:name=systemd:/x\n");
    write("/proc/self/mountinfo",
          "33 24 0:29 " + mounted_root + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
              "34 24 0:30 " + mounted_root + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  }

  std::string root_;
};

TEST_F(Groups, WithoutAnyNothingIsLimited) {
  const ContainerLimits limits = container_limits(root_);
  EXPECT_EQ(limits.cores, 0);
  EXPECT_EQ(limits.memory_bytes, 0u);
}

TEST_F(Groups, AContainerThatSeesItsOwnGroupAsTheRoot) {
  version2("/");
  write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  write("/sys/fs/cgroup/memory.max", "1073741824\n");
  const ContainerLimits limits = container_limits(root_);
  EXPECT_EQ(limits.cores, 2.5);
  EXPECT_EQ(limits.memory_bytes, 1073741824u);
}

TEST_F(Groups, TheLeastOfAllLevelsCounts) {
  version2("/user.slice/job 7.scope");
  write("/sys/fs/cgroup/user.slice/job 7.scope/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/user.slice/job 7.scope/memory.max", "4000000\n");
  write("/sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  write("/sys/fs/cgroup/memory.max", "3000000\n");
  const ContainerLimits limits = container_limits(root_);
  EXPECT_EQ(limits.cores, 3);
  EXPECT_EQ(limits.cores_group, root_ + "/sys/fs/cgroup/user.slice");
  EXPECT_EQ(limits.memory_bytes, 3000000u);
}

TEST_F(Groups, APartOfTheHierarchyMayBeMounted) {
  version2("/docker/1f/inner", "/docker/1f");
  write("/sys/fs/cgroup/inner/cpu.max", "50000 100000\n");
  write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(container_limits(root_).cores, 0.5);
}

TEST_F(Groups, AGroupOutsideOfWhatIsMountedLeavesTheMountedOne) {
  version2("/../other");
  write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(container_limits(root_).cores, 1);
}

TEST_F(Groups, VersionOne) {
  version1("/docker/1f", "/docker/1f");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  const ContainerLimits limits = container_limits(root_);
  EXPECT_EQ(limits.cores, 3);
  EXPECT_EQ(limits.memory_bytes, 2147483648u);
}

TEST_F(Groups, VersionOneWithoutLimits) {
  version1("/", "/");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const ContainerLimits limits = container_limits(root_);
  EXPECT_EQ(limits.cores, 0);
  EXPECT_EQ(limits.memory_bytes, 0u);
}

TEST(MachineLimits, AreNotBeyondTheMachine) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), count_cores(allowed_cores()));
  EXPECT_GT(usable_memory_bytes(), 0);
  EXPECT_LE(usable_memory_bytes(), static_cast<double>(machine_memory_bytes()));
}

TEST(MachineLimits, FollowTheMaskOfTheProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  EXPECT_EQ(count_cores(own_core_claim().mask), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

/// A process of `node` that may run on cores [first, first + count).
CoreClaim claim(std::uint64_t node, int first, int count) {
  CoreClaim made;
  made.node = node;
  for (int core = first; core < first + count; ++core)
    made.mask[static_cast<std::size_t>(core) / 64] |= std::uint64_t{1} << (core % 64);
  return made;
}

std::vector<int> threads_of(const std::vector<CoreClaim>& claims) {
  std::vector<int> threads;
  for (const double cores : core_shares(claims)) threads.push_back(threads_of_share(cores));
  return threads;
}

TEST(CoreShares, OfOneNodeAreDivided) {
  EXPECT_EQ(threads_of({claim(1, 0, 8)}), (std::vector<int>{8}));
  EXPECT_EQ(threads_of({claim(1, 0, 8), claim(1, 0, 8)}), (std::vector<int>{4, 4}));
  EXPECT_EQ(threads_of(std::vector<CoreClaim>(3, claim(1, 0, 8))), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(threads_of(std::vector<CoreClaim>(3, claim(1, 0, 3))), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(threads_of(std::vector<CoreClaim>(5, claim(1, 0, 2))), std::vector<int>(5, 1));
}

TEST(CoreShares, OfOtherNodesAreNot) {
  EXPECT_EQ(threads_of({claim(1, 0, 8), claim(2, 0, 8), claim(3, 0, 4), claim(3, 0, 4)}),
            (std::vector<int>{8, 8, 2, 2}));
}

TEST(CoreShares, OwnCoresAreOnesOwn) {
  EXPECT_EQ(threads_of({claim(1, 0, 8), claim(1, 8, 8), claim(1, 120, 16)}), (std::vector<int>{8, 8, 16}));
}

/// Two ranks are bound to one socket of eight cores, one to the other; a fourth may use all sixteen: a core of the
/// first socket has three sharers, one of the second two. 8/3, 8/3, 8/2, and 8/3 + 8/2 cores.
TEST(CoreShares, MasksThatOverlapInPart) {
  EXPECT_EQ(threads_of({claim(1, 0, 8), claim(1, 0, 8), claim(1, 8, 8), claim(1, 0, 16)}),
            (std::vector<int>{2, 2, 4, 6}));
}

TEST(CoreShares, AQuotaIsSharedByItsGroup) {
  std::vector<CoreClaim> claims(3, claim(1, 0, 16));
  for (CoreClaim& of_group : claims) {
    of_group.quota = 5;
    of_group.quota_group = 7;
  }
  EXPECT_EQ(threads_of(claims), (std::vector<int>{1, 1, 1}));  // 5/3 of a core
  claims[2].quota_group = 8;
  EXPECT_EQ(threads_of(claims), (std::vector<int>{2, 2, 5}));  // 5/2, 5/2; 16/3 is more than 5
  claims[2].quota = 0;
  EXPECT_EQ(threads_of(claims), (std::vector<int>{2, 2, 5}));
}

/// For all masks, shares of a node add up to the cores that any of its processes may use.
TEST(CoreShares, AddUpToTheNodesCores) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<CoreClaim> claims;
    CoreMask together{};
    for (int rank = 0; rank < 6; ++rank) {
      const int first = static_cast<int>(random() % 60), count = 1 + static_cast<int>(random() % 30);
      claims.push_back(claim(1, first, count));
      for (std::size_t word = 0; word < together.size(); ++word) together[word] |= claims.back().mask[word];
    }
    double sum = 0;
    for (const double cores : core_shares(claims)) sum += cores;
    EXPECT_NEAR(sum, count_cores(together), 1e-9);
  }
}

}  // namespace
}  // namespace strobe
