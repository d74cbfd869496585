// A rendezvous in files that all ranks can reach: NAME.KEY.N.R is what rank R brought to gathering N, NAME.KEY.N.alarm
// that somebody gave up before it. Invariants: a file appears whole, because it is written under another name and
// renamed; a file of an earlier run has another key and is never looked at. Each rank deletes what it brought to
// gathering N when gathering N + 1 is complete (all have read it by then); what the last gathering left stays, a few
// kilobytes a run. Cost: P files and P reads per rank and gathering.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/nccl/bootstrap/patience.hpp"
#include "backends/nccl/bootstrap/rendezvous.hpp"

namespace strobe::nccl {
namespace {

/// The key with nothing in it that means something in a path.
std::string in_file_name(const std::string& key) {
  std::string name;
  for (const char c : key) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    name += plain ? std::string(1, c) : fmt::format("={:02x}", static_cast<unsigned char>(c));
  }
  return name;
}

void write_whole(const std::string& path, const std::string& bytes) {
  const std::string unfinished = fmt::format("{}.unfinished.{}", path, ::getpid());
  const auto refuse = [&](const std::string& what) {
    throw SystemError(fmt::format("{}: {}: {}; STROBE_NCCL_ID_FILE must name a place that every rank can write to",
                                  what, path, std::strerror(errno)));
  };
  ::unlink(unfinished.c_str());  // of a process that had this number and is gone; or a link, which must not be followed
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) refuse("cannot create");
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  const bool synced = ::fsync(file) == 0;  // network file systems report a full disk only now
  const bool closed = ::close(file) == 0;
  if (written != static_cast<ssize_t>(bytes.size()) || !synced || !closed) refuse("cannot write");
  if (::rename(unfinished.c_str(), path.c_str()) != 0) refuse("cannot rename");
}

std::optional<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

class FileRendezvous final : public Rendezvous {
 public:
  explicit FileRendezvous(const LaunchPlace& place)
      : Rendezvous(place.rank, place.size), base_(place.id_file + "." + in_file_name(place.run_key)) {}
  Brought gather(const std::string& own, double seconds) override {
    const int number = complete_;
    write_whole(path_of(number, rank()), own);
    Brought all(static_cast<std::size_t>(size()));
    Patience patience(seconds);
    bool hurried = false;
    int missing = size();
    while (missing > 0) {
      for (std::size_t peer = 0; peer < all.size(); ++peer) {
        if (!all[peer]) all[peer] = read_whole(path_of(number, static_cast<int>(peer)));
      }
      missing = static_cast<int>(std::count(all.begin(), all.end(), std::nullopt));
      if (missing == 0 || patience.over()) break;
      if (!hurried && !alarmed().empty()) {
        hurried = true;
        patience.shorten(alarm_seconds);
      }
      patience.pause();
    }
    if (missing == 0 && number > 0) {
      remove(path_of(number - 1, rank()));
      remove(alarm_path(number - 1));
    }
    ++complete_;
    found_.clear();
    next_look_ = {};
    return all;
  }

  void alarm() noexcept override {
    try {
      write_whole(alarm_path(complete_), std::to_string(rank()));
    } catch (const std::exception&) {
      // The others find out at their deadline.
    }
  }

  std::string alarmed() override {
    const auto now = Patience::Clock::now();
    if (now < next_look_) return found_;
    next_look_ = now + std::chrono::milliseconds(50);
    if (found_.empty()) {
      if (const auto who = read_whole(alarm_path(complete_))) found_ = fmt::format("rank {} gave up", *who);
    }
    return found_;
  }

 private:
  std::string path_of(int number, int rank) const { return fmt::format("{}.{}.{}", base_, number, rank); }
  std::string alarm_path(int number) const { return fmt::format("{}.{}.alarm", base_, number); }
  static void remove(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  std::string base_;
  int complete_ = 0;  // gatherings
  std::string found_;
  Patience::Clock::time_point next_look_{};
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_files(const LaunchPlace& place) { return std::make_unique<FileRendezvous>(place); }

}  // namespace strobe::nccl
