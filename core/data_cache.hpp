// Data that several cases of one run read, each made once: graphs, samples, prepared matrices.
//
// A key is a struct of everything that its value may depend on, and its member `make` makes the value. `make` sees the
// members of the key and nothing else of a case. So an option that is missing from the key cannot change the value.
// Whoever runs cases owns the cache and hands it down: a sweep, a plan search, a calibration. Two runs share data only
// when they are handed the same cache. No generator or format takes part, so their interfaces know no cache.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <typeindex>
#include <utility>

namespace strobe {

class DataCache;
class NodeStore;  // workloads/storage/node_store.hpp

/// A struct with `using Value`, `static constexpr std::size_t kept`, `Value make(const DataCache&) const` and equality
/// of all members. It holds no pointer, because the target of a pointer could change while the key stays the same.
template <class Key>
concept DataKey = std::equality_comparable<Key> && std::is_aggregate_v<Key> &&(Key::kept >= 1) &&
                  requires(const Key key, const DataCache& cache) {
  { key.make(cache) } -> std::same_as<typename Key::Value>;
};

/// Keeps the `Key::kept` values of each type of key that were asked for last. Safe to use from several threads. While
/// one makes a value, others that ask for the same type of key wait. Looking up changes nothing that a caller sees, so
/// it is const.
class DataCache {
 public:
  DataCache() = default;
  /// With `node`, keys may share their values with other processes of this node.
  explicit DataCache(std::shared_ptr<const NodeStore> node) : node_(std::move(node)) {}
  DataCache(const DataCache&) = delete;
  DataCache& operator=(const DataCache&) = delete;

  /// Null when this process shares nothing.
  const std::shared_ptr<const NodeStore>& node() const { return node_; }

  /// Drops all values; whoever holds one keeps it. Not while another thread asks for one.
  void forget() const {
    const std::lock_guard lock(mutex_);
    shelves_.clear();
  }

  /// The value of the key. Throws what `make` throws, and keeps nothing for the key then. `make` may ask for values of
  /// other types of keys, but not in a circle.
  template <DataKey Key>
  std::shared_ptr<const typename Key::Value> get(const Key& key) const {
    Shelf<Key>& shelf = shelf_of<Key>();
    const std::lock_guard lock(shelf.mutex);
    const auto found =
        std::find_if(shelf.kept.begin(), shelf.kept.end(), [&](const auto& e) { return e.first == key; });
    if (found != shelf.kept.end()) {
      shelf.kept.splice(shelf.kept.begin(), shelf.kept, found);
      return shelf.kept.front().second;
    }
    if constexpr (Key::kept == 1) shelf.kept.clear();  // two large values at a time would be one too many
    shelf.kept.emplace_front(key, std::make_shared<const typename Key::Value>(key.make(*this)));
    if (shelf.kept.size() > Key::kept) shelf.kept.pop_back();
    return shelf.kept.front().second;
  }

 private:
  template <class Key>
  struct Shelf {
    std::mutex mutex;
    std::list<std::pair<Key, std::shared_ptr<const typename Key::Value>>> kept;  // the one asked for last in front
  };

  template <class Key>
  Shelf<Key>& shelf_of() const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<void>& shelf = shelves_[typeid(Key)];
    if (shelf == nullptr) shelf = std::make_shared<Shelf<Key>>();
    return *static_cast<Shelf<Key>*>(shelf.get());
  }

  std::shared_ptr<const NodeStore> node_;
  mutable std::mutex mutex_;
  mutable std::map<std::type_index, std::shared_ptr<void>> shelves_;
};

}  // namespace strobe
