// A helper's home makes a POSIX shared memory object and tells its name; the trainers' processes map it; when all have,
// the name is removed, so that the memory goes with the last process, however that ends. Invariants: all processes
// learn of any failure and throw alike; memory is reserved before it is used, because touching what is not there ends a
// process. Cost: two gatherings per launch.
#include "backends/host/shared_channels.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/fields.hpp"
#include "core/system/machine_limits.hpp"

namespace strobe {
namespace {

/// Closes a descriptor, and removes a name, when it ends.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void fail(const std::string& what, std::size_t bytes) {
  throw SystemError(
      fmt::format("shared memory of {} bytes for a helper's channels: {}: {}", bytes, what, std::strerror(errno)));
}

std::shared_ptr<std::byte> map(int descriptor, std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) fail("mmap", bytes);
  return {static_cast<std::byte*>(memory), [bytes](std::byte* held) { munmap(held, bytes); }};
}

/// A new object, its memory reserved; nobody else has the name.
std::shared_ptr<std::byte> make_object(const std::string& name, std::size_t bytes) {
  const Descriptor object{shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600)};
  if (object.number < 0) fail("shm_open", bytes);
  try {
    if (const int error = posix_fallocate(object.number, 0, static_cast<off_t>(bytes)); error != 0) {
      errno = error;
      fail("posix_fallocate (the size of /dev/shm limits it)", bytes);
    }
    return map(object.number, bytes);
  } catch (...) {
    shm_unlink(name.c_str());
    throw;
  }
}

std::shared_ptr<std::byte> open_object(const std::string& name, std::size_t bytes) {
  const Descriptor object{shm_open(name.c_str(), O_RDWR, 0600)};
  if (object.number < 0) fail("shm_open of " + name, bytes);
  return map(object.number, bytes);
}

std::string new_name() {
  static std::atomic<std::uint64_t> count{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("/strobe-{}-{}-{}", getpid(), count++, now);
}

bool serves(const HelperRequest& helper, int rank) {
  return std::any_of(helper.channels.begin(), helper.channels.end(),
                     [rank](const ChannelShape& channel) { return channel.trainer == rank; });
}

/// The first message of a process: its node, and the names of the objects that it has made, by helper.
struct Made {
  std::vector<std::string> names;
  ~Made() {
    for (const std::string& name : names) {
      if (!name.empty()) shm_unlink(name.c_str());
    }
  }
};

void throw_first_error(const std::vector<std::string>& texts) {
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const Json said = Json::parse(texts[rank], nullptr, false);
    if (said.is_discarded()) throw SystemError(fmt::format("rank {} sent broken words about its channels", rank));
    const std::string error = said.value("error", "");
    if (!error.empty()) throw SystemError(fmt::format("rank {}: {}", rank, error));
  }
}

void refuse_several_nodes(const std::vector<HelperRequest>& helpers, const std::vector<std::string>& texts) {
  const auto node = [&](int rank) { return Json::parse(texts[rank]).at("node"); };
  for (const HelperRequest& helper : helpers) {
    for (const ChannelShape& channel : helper.channels) {
      if (node(channel.trainer) == node(home_of(helper))) continue;
      throw Unavailable(
          fmt::format("helper {} serves ranks {} and {}, which are on different nodes; it shares memory "
                      "with them",
                      helper.name, home_of(helper), channel.trainer));
    }
  }
}

}  // namespace

int home_of(const HelperRequest& helper) {
  int home = helper.channels.empty() ? 0 : helper.channels.front().trainer;
  for (const ChannelShape& channel : helper.channels) home = std::min(home, channel.trainer);
  return home;
}

std::vector<std::shared_ptr<ChannelBlock>> share_channels(const std::vector<HelperRequest>& helpers, int rank,
                                                          const GatherTexts& gather) {
  std::vector<std::shared_ptr<ChannelBlock>> blocks(helpers.size());
  if (helpers.empty()) return blocks;
  Made made;
  made.names.resize(helpers.size());
  Json own = {{"node", own_core_claim().node}};
  try {
    for (std::size_t i = 0; i < helpers.size(); ++i) {
      if (home_of(helpers[i]) != rank) continue;
      const std::string name = new_name();
      auto memory = make_object(name, ChannelBlock::bytes_for(helpers[i].channels));
      made.names[i] = name;
      blocks[i] = std::make_shared<ChannelBlock>(std::move(memory), helpers[i].channels);
    }
  } catch (const std::exception& failure) {
    own["error"] = failure.what();
  }
  own["names"] = made.names;
  const std::vector<std::string> texts = gather(own.dump());
  throw_first_error(texts);
  refuse_several_nodes(helpers, texts);
  Json opened = Json::object();
  try {
    for (std::size_t i = 0; i < helpers.size(); ++i) {
      const int home = home_of(helpers[i]);
      if (home == rank || !serves(helpers[i], rank)) continue;
      const std::string name = Json::parse(texts[home]).at("names").at(i);
      blocks[i] = std::make_shared<ChannelBlock>(open_object(name, ChannelBlock::bytes_for(helpers[i].channels)),
                                                 helpers[i].channels);
    }
  } catch (const std::exception& failure) {
    opened["error"] = failure.what();
  }
  throw_first_error(gather(opened.dump()));
  return blocks;
}

}  // namespace strobe
