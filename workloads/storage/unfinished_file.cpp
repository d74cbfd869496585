// A name is made with O_EXCL and O_NOFOLLOW, so that a file or link that somebody put there is neither opened nor
// overwritten. Its writer holds an advisory lock (flock) until the file is moved or removed. The lock ends with the
// process, whatever ends it. So a file of such a name that can be locked was left by a process that is gone. A process
// number alone would not show that: numbers are used again, and other machines of a shared disk have the same.
#include "workloads/storage/unfinished_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#include "core/errors.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view infix = ".tmp.";

[[noreturn]] void cannot(const char* what, const std::string& path) {
  throw SystemError(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

/// Names that a signal's handler can read: memory that is never freed, each slot whole before it is marked as taken.
struct Slot {
  std::atomic<int> state{0};  // 0 free, 1 being filled, 2 taken
  std::array<char, 4096> name;
};
std::array<Slot, 64> slots;

/// The slot that has the name now; -1 when all are taken or the name is too long, which costs the handler only.
int take_slot(const std::string& name) {
  for (std::size_t i = 0; i < slots.size() && name.size() < slots[i].name.size(); ++i) {
    int free = 0;
    if (!slots[i].state.compare_exchange_strong(free, 1)) continue;
    std::memcpy(slots[i].name.data(), name.c_str(), name.size() + 1);
    slots[i].state.store(2);
    return static_cast<int>(i);
  }
  return -1;
}

void leave_slot(int slot) {
  if (slot >= 0) slots[slot].state.store(0);
}

/// PID.NUMBER, as names end.
bool is_number_pair(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto digits = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  return dot != std::string_view::npos && digits(text.substr(0, dot)) && digits(text.substr(dot + 1));
}

/// Removes the file when Strobe made it and its writer is gone.
void remove_abandoned(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  struct stat status {};
  const bool ours = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  if (ours && flock(file, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  close(file);
}

/// Once for each path of a process: a folder may be long, and a row is written after every case.
void clean_up_before(const std::string& path) {
  static std::mutex mutex;
  static std::set<std::string> cleaned;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!cleaned.insert(path).second) return;
  }
  const fs::path target(path);
  const std::string beginning = target.filename().string() + std::string(infix);
  std::error_code ignored;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(beginning) && is_number_pair(std::string_view(name).substr(beginning.size())))
      remove_abandoned(entry->path());
  }
}

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) : path_(path) {
  static std::atomic<std::uint64_t> number{0};
  clean_up_before(path);
  while (!make(fmt::format("{}{}{}.{}", path, infix, getpid(), number.fetch_add(1)))) {
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (!name_.empty()) unlink(name_.c_str());
  close(descriptor_);
  leave_slot(slot_);
}

/// Whether the name was free, and the file is still there now that it is locked: between the two steps another writer
/// may have taken it for an abandoned one.
bool UnfinishedFile::make(const std::string& name) {
  const int slot = take_slot(name);  // first, so that no file is without one
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) {
    const int error = errno;
    leave_slot(slot);
    errno = error;
    if (error != EEXIST) cannot("create", path_);
    return false;
  }
  struct stat status {};
  const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;  // a disk without locks will do
  if (!locked || fstat(file, &status) != 0 || status.st_nlink == 0) {
    unlink(name.c_str());
    close(file);
    leave_slot(slot);
    return false;
  }
  name_ = name, descriptor_ = file, slot_ = slot;
  return true;
}

void UnfinishedFile::move_to_path() {
  if (std::rename(name_.c_str(), path_.c_str()) != 0) cannot("rename a temporary file to", path_);
  name_.clear();
  leave_slot(slot_);
  slot_ = -1;
}

void probe_folder(const std::string& folder) {
  int file = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {  // not every file system makes files without a name
    const UnfinishedFile named((fs::path(folder) / ".probe").string());
    file = dup(named.descriptor());
  }
  constexpr std::string_view words = "probe\n";
  const bool written = file >= 0 && write(file, words.data(), words.size()) == static_cast<ssize_t>(words.size()) &&
                       (fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP);
  const int error = errno;
  if (file >= 0) close(file);
  errno = error;
  if (!written) cannot("write into", folder);
}

void remove_unfinished_files() noexcept {
  for (Slot& slot : slots) {
    if (slot.state.load() == 2) unlink(slot.name.data());
  }
}

}  // namespace strobe
