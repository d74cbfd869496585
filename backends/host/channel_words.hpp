// The words (atomic counts and states) of a helper and its trainers in shared memory, between threads of a process or
// processes of a node.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/channel.hpp"

namespace strobe {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// A channel's words: counts of requests and answers, and whether the trainer's program has ended.
struct alignas(64) ChannelWords {
  std::atomic<std::uint32_t> asked;
  std::atomic<std::uint32_t> answered;
  std::atomic<std::uint32_t> closed;
};

/// A helper's own words.
struct alignas(64) HelperWords {
  enum State : std::uint32_t { running, ended, failed };
  static constexpr std::size_t most_text = 1000;

  std::atomic<std::uint32_t> state;
  char text[most_text];  // why it has failed; written before the state
};

/// The layout of a helper's words and its channels' memory in one block of bytes, zeros at first.
class ChannelBlock {
 public:
  /// `memory` holds `bytes_for(channels)` bytes, on pages of its own.
  ChannelBlock(std::shared_ptr<std::byte> memory, const std::vector<ChannelShape>& channels);

  static std::size_t bytes_for(const std::vector<ChannelShape>& channels);
  /// A block for the threads of this process. Throws SystemError when there is no memory.
  static std::shared_ptr<std::byte> allocate(const std::vector<ChannelShape>& channels);

  HelperWords& helper() const { return *reinterpret_cast<HelperWords*>(memory_.get()); }
  ChannelWords& channel(std::size_t i) const;
  HostMemory request(std::size_t i) const { return part(places_[i].request, places_[i].request_bytes); }
  HostMemory answer(std::size_t i) const { return part(places_[i].answer, places_[i].answer_bytes); }
  std::size_t channels() const { return places_.size(); }

  /// Marks that the channel's trainer will ask no more.
  void close(std::size_t i) const;
  /// Marks that the helper has ended, or failed for the reason that the text gives.
  void end(HelperWords::State state, const std::string& text) const;

 private:
  struct Place {
    std::size_t request = 0, request_bytes = 0, answer = 0, answer_bytes = 0;
  };
  static std::vector<Place> places_of(const std::vector<ChannelShape>& channels, std::size_t& bytes);
  HostMemory part(std::size_t first, std::size_t bytes) const;

  std::shared_ptr<std::byte> memory_;
  std::vector<Place> places_;
};

/// Waits at most `milliseconds` for the word to change from `value`; it may also return early. Works between threads
/// and between processes.
void await_word(std::atomic<std::uint32_t>& word, std::uint32_t value, int milliseconds);
/// Wakes those that wait for it.
void wake_word(std::atomic<std::uint32_t>& word);

}  // namespace strobe
