// Each value has a file and a lock file next to it. An exclusive lock (flock) is held while one process makes the file,
// a shared one while several make it or while it is mapped. Locks end with their process, whatever ends it. So a lock
// file that can be locked belongs to nobody, and a missing file under a free lock is one that has to be made. Parts of
// a file that nobody finished lie under its lock too, and the last one that leaves removes them. Invariants: the file
// appears whole, by renaming. It is removed only under an exclusive lock, and the lock file is removed after it. A
// process that locks a lock file which was removed meanwhile takes the new one.
#include "workloads/storage/node_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/storage/unfinished_file.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* name_begin = "strobe-node-";
constexpr std::size_t name_digits = 32;  // of a value's name
constexpr const char* lock_end = ".lock";
constexpr std::chrono::milliseconds moment{2}, longest_pause{50};

std::string lock_path(const std::string& path) { return path + lock_end; }

/// Whether the open lock file is still the one at its path.
bool is_current(int lock, const std::string& path) {
  struct stat open_one {
  }, named{};
  return fstat(lock, &open_one) == 0 && stat(path.c_str(), &named) == 0 && open_one.st_ino == named.st_ino &&
         open_one.st_dev == named.st_dev;
}

/// Removes the files of a value, the lock file last. Call it under an exclusive lock.
void remove_value(const std::string& path) {
  const fs::path target(path);
  std::error_code ignored;
  for (fs::directory_iterator entry(target.parent_path(), ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string(), own = target.filename().string();
    if (name.starts_with(own) && name != own + lock_end) unlink(entry->path().c_str());
  }
  unlink(lock_path(path).c_str());
}

/// Whether a name is that of a lock file of this host: the locks of others may look free from here.
bool is_own_lock(const std::string& name, const std::string& begin) {
  return name.starts_with(begin) && name.ends_with(lock_end) &&
         name.size() == begin.size() + name_digits + std::strlen(lock_end);
}

void remove_abandoned(const std::string& folder, const std::string& begin) {
  std::error_code ignored;
  std::vector<std::string> locks;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (is_own_lock(name, begin)) locks.push_back(entry->path().string());
  }
  for (const std::string& path : locks) {
    const int lock = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (lock < 0) continue;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 && is_current(lock, path))
      remove_value(path.substr(0, path.size() - std::strlen(lock_end)));
    close(lock);
  }
}

/// Pages of a file in memory (tmpfs) could not be dropped when memory is short.
bool is_in_memory(const std::string& folder) {
  struct statfs status {};
  return statfs(folder.c_str(), &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

bool is_writable(const std::string& folder) {
  try {
    fs::create_directories(folder);
    probe_folder(folder);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// The first folder on a disk that can be written, else the first one in memory; "" when there is none.
std::string folder_of(const std::vector<std::string>& folders) {
  std::string in_memory;
  for (const std::string& folder : folders) {
    if (folder.empty() || !is_writable(folder)) continue;
    if (!is_in_memory(folder)) return folder;
    if (in_memory.empty()) in_memory = folder;
  }
  return in_memory;
}

/// A descriptor of the value's lock file: locked exclusively, or shared when the value is there. -1 when another
/// process is making it. When processes make it together, all locks are shared; -1 when another process removes it.
int try_lock(const std::string& path, bool together) {
  const std::string name = lock_path(path);
  const int lock = open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock < 0) throw SystemError(fmt::format("cannot open {}: {}", name, std::strerror(errno)));
  for (const int kind : {LOCK_EX, LOCK_SH}) {
    if (together && kind == LOCK_EX) continue;
    const bool locked = flock(lock, kind | LOCK_NB) == 0;
    const int error = errno;
    if (locked && is_current(lock, name) && (together || kind == LOCK_EX || fs::exists(path))) return lock;
    if (!locked && error != EWOULDBLOCK && error != EINTR) {
      close(lock);
      throw SystemError(fmt::format("cannot lock {}: {}", name, std::strerror(error)));
    }
    if (locked) break;
  }
  close(lock);
  return -1;
}

}  // namespace

NodeFile::~NodeFile() {
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0 && is_current(lock_, lock_path(path_))) remove_value(path_);
  close(lock_);
}

void NodeFile::share() const {
  // Changing the kind of lock is two steps, and another process may hold it between them for a moment. A lock that is
  // lost for good would only mean that the file is removed, and made again by the next process.
  constexpr int most_tries = 1000;
  for (int i = 0; i < most_tries && flock(lock_, LOCK_SH | LOCK_NB) != 0; ++i) std::this_thread::sleep_for(moment);
}

NodeStore::NodeStore(NodeStoreSetting setting) : setting_(std::move(setting)), folder_(folder_of(setting_.folders)) {
  if (folder_.empty()) {
    setting_.note("no folder for shared files can be written; each process of this machine holds the data itself");
    return;
  }
  begin_ = fmt::format("{}{}-", name_begin, sha256_hex(setting_.host).substr(0, 8));
  remove_abandoned(folder_, begin_);
}

int NodeStore::lock_when_free(const std::string& path, bool together) const {
  int lock = try_lock(path, together);
  if (lock >= 0) return lock;
  auto pause = moment;
  for (const std::function<bool()> goes_on = setting_.begin_wait(); lock < 0 && goes_on();
       lock = try_lock(path, together)) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
  return lock;
}

void NodeStore::keep(std::shared_ptr<const NodeFile> file) const {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(file));
}

std::shared_ptr<const NodeFile> NodeStore::take(const Json& key, const std::function<void(const std::string&)>& write,
                                                bool together) const {
  if (folder_.empty()) return nullptr;
  const std::string name = sha256_hex(setting_.launch + '\n' + key.dump()).substr(0, name_digits);
  const std::string path = fmt::format("{}/{}{}", folder_, begin_, name);
  try {
    const int lock = lock_when_free(path, together);
    if (lock < 0) throw SystemError("another process takes long to make " + path);
    auto file = std::make_shared<const NodeFile>(path, lock);
    if (!fs::exists(path)) write(path);
    return file;
  } catch (const SystemError& error) {
    setting_.note(fmt::format("{}; each process of this machine holds these data itself", error.what()));
    return nullptr;
  }
}

}  // namespace strobe
