// Invariants: a channel's memory is the trainer's until it has asked, the helper's until it has answered, and the
// trainer's again; counts only grow, and are stored after the data that they announce. Waiting is the kernel's futex,
// shared between processes, after a short spin: a helper answers within microseconds. Cost: one system call per wait
// that sleeps.
#include "backends/host/channel_words.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <thread>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::size_t page_bytes = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

}  // namespace

std::vector<ChannelBlock::Place> ChannelBlock::places_of(const std::vector<ChannelShape>& channels,
                                                         std::size_t& bytes) {
  bytes = whole_pages(sizeof(HelperWords) + channels.size() * sizeof(ChannelWords));
  std::vector<Place> places;
  for (const ChannelShape& channel : channels) {
    Place place{0, channel.request_bytes, 0, channel.answer_bytes};
    place.request = bytes;
    place.answer = place.request + whole_pages(channel.request_bytes);
    bytes = place.answer + whole_pages(channel.answer_bytes);
    places.push_back(place);
  }
  return places;
}

std::size_t ChannelBlock::bytes_for(const std::vector<ChannelShape>& channels) {
  std::size_t bytes = 0;
  places_of(channels, bytes);
  return bytes;
}

std::shared_ptr<std::byte> ChannelBlock::allocate(const std::vector<ChannelShape>& channels) {
  const std::size_t bytes = bytes_for(channels);
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes));
  if (memory == nullptr) throw SystemError("no memory for " + std::to_string(bytes) + " bytes of channels");
  std::memset(memory, 0, bytes);
  return {memory, [](std::byte* held) { std::free(held); }};
}

ChannelBlock::ChannelBlock(std::shared_ptr<std::byte> memory, const std::vector<ChannelShape>& channels)
    : memory_(std::move(memory)) {
  std::size_t bytes = 0;
  places_ = places_of(channels, bytes);
}

ChannelWords& ChannelBlock::channel(std::size_t i) const {
  return *reinterpret_cast<ChannelWords*>(memory_.get() + sizeof(HelperWords) + i * sizeof(ChannelWords));
}

HostMemory ChannelBlock::part(std::size_t first, std::size_t bytes) const {
  if (bytes == 0) return {};
  return {std::shared_ptr<std::byte>(memory_, memory_.get() + first), bytes};
}

void ChannelBlock::close(std::size_t i) const {
  channel(i).closed.store(1, std::memory_order_release);
  wake_word(channel(i).asked);
}

void ChannelBlock::end(HelperWords::State state, const std::string& text) const {
  std::strncpy(helper().text, text.c_str(), HelperWords::most_text - 1);
  helper().state.store(state, std::memory_order_release);
  for (std::size_t i = 0; i < channels(); ++i) wake_word(channel(i).answered);
}

void await_word(std::atomic<std::uint32_t>& word, std::uint32_t value, int milliseconds) {
  for (int spin = 0; spin < 50; ++spin) {
    if (word.load(std::memory_order_acquire) != value) return;
    std::this_thread::yield();
  }
  const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1000000L};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake_word(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr,
          nullptr, 0);
}

}  // namespace strobe
