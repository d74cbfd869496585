// Values that the processes of one launch share on one node: each is made once, as a file that all of them map.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "workloads/storage/reading_bound.hpp"
#include "workloads/storage/shared_parts.hpp"

namespace strobe {

/// The file of a value, with a lock on it. While it lives, nobody removes the file. When the last one of all processes
/// ends, it removes the file.
class NodeFile {
 public:
  /// `lock` is an open descriptor that holds the lock; this closes it.
  NodeFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  ~NodeFile();
  NodeFile(const NodeFile&) = delete;
  NodeFile& operator=(const NodeFile&) = delete;

  const std::string& path() const { return path_; }
  /// Lets the others read the file that this process has made, and has mapped.
  void share() const;

 private:
  std::string path_;
  int lock_;
};

/// The place of a node store, its launch, and how it waits and reports.
struct NodeStoreSetting {
  std::vector<std::string> folders;  // the first one that can be written and is on a disk is used
  std::string host;
  std::string launch;    // a name of this launch's processes on this node that read the same files
  BeginWait begin_wait;  // for another process that makes a value; when it ends, this process makes its own value
  std::function<void(const std::string&)> note;           // hears why a value is not shared
  std::uint64_t reading_bytes = default_reading_bytes();  // of memory for a graph that is read
};

/// Safe to use from several threads, if each asks for another key.
class NodeStore {
 public:
  /// Removes files of processes that are gone. Without a folder that can be written nothing is shared, which is a note.
  explicit NodeStore(NodeStoreSetting setting);

  /// The value of `key`, read from the file that `write` makes at a path. The first process that asks calls `write`;
  /// the others wait. If that process dies, the next one makes the file. `read` gets the path, and a keeper that must
  /// live as long as the mapping. Nothing when the file cannot be written, or takes too long; this process then makes
  /// its own value. Throws what `write`, `read` and NodeStoreSetting::begin_wait throw.
  template <class Value>
  std::optional<Value> get(const Json& key, const std::function<void(const std::string&)>& write,
                           const std::function<Value(const std::string&, std::shared_ptr<const void>)>& read) const {
    return read_taken<Value>(take(key, write, false), read);
  }

  /// The same of a value that processes make together. Each one that asks before the value is there calls `join`, which
  /// returns when the file is at the path, whoever finished it. Other files of its parts have names that begin with the
  /// path; they stay as long as the value. `join` waits for others by `begin_wait()`.
  template <class Value>
  std::optional<Value> get_together(
      const Json& key, const std::function<void(const std::string&)>& join,
      const std::function<Value(const std::string&, std::shared_ptr<const void>)>& read) const {
    return read_taken<Value>(take(key, join, true), read);
  }

  const BeginWait& begin_wait() const { return setting_.begin_wait; }
  /// A bound for a graph that is read to be shared; what does not fit goes into files of the same folder.
  BoundedReading bounded_reading() const { return {setting_.reading_bytes, folder_}; }

 private:
  template <class Value>
  std::optional<Value> read_taken(
      const std::shared_ptr<const NodeFile>& file,
      const std::function<Value(const std::string&, std::shared_ptr<const void>)>& read) const {
    if (file == nullptr) return std::nullopt;
    std::optional<Value> value = read(file->path(), file);
    file->share();
    if (file.use_count() == 1) keep(file);
    return value;
  }

  std::shared_ptr<const NodeFile> take(const Json& key, const std::function<void(const std::string&)>& write,
                                       bool together) const;
  int lock_when_free(const std::string& path, bool together) const;
  /// Keeps a file that no value maps, so that the other processes find it.
  void keep(std::shared_ptr<const NodeFile> file) const;

  NodeStoreSetting setting_;
  std::string folder_;  // "" when nothing is shared
  std::string begin_;   // of the names of this host's files
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const NodeFile>> kept_;
};

}  // namespace strobe
