// Helpers on real clocks: threads of the process. Their trainers may be ranks of this process or of others on the node.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/host/channel.hpp"
#include "backends/host/channel_words.hpp"
#include "core/errors.hpp"

namespace strobe {

/// A helper, or a trainer, waited too long for the other; the text names the helper.
class HelperTimeout : public CollectiveTimeout {
 public:
  HelperTimeout(std::string text, int rank, double seconds, std::vector<int> missing)
      : CollectiveTimeout("a helper's channel", rank, seconds, std::move(missing)), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Throws Error unless the helpers' names differ and every channel's trainer is one of `ranks` ranks.
void check_helpers(const std::vector<HelperRequest>& helpers, int ranks);

/// Runs the helper's program; exceptions that it throws name the helper.
void run_helper_program(const HelperRequest& helper, HelperPost& post);

/// The channels of rank `rank` to the helpers whose words lie in `blocks` (null: this rank has none to that helper),
/// for a device of that rank.
TrainerChannels trainer_channels(const std::vector<HelperRequest>& helpers,
                                 const std::vector<std::shared_ptr<ChannelBlock>>& blocks, int rank,
                                 double timeout_seconds, Device& device);

/// Closes the channels of `rank`: its program has ended.
void close_channels(const std::vector<HelperRequest>& helpers, const std::vector<std::shared_ptr<ChannelBlock>>& blocks,
                    int rank);

/// Runs helpers of this process, one thread each. Trainers get the message of an exception that a helper throws; the
/// launcher gets the exception through `failure`.
class HelperThreads {
 public:
  /// The exception that ended a helper, and whether another failure caused it.
  using Failed = std::function<void(const std::string& name, std::exception_ptr failure, bool consequence,
                                    const std::string& text)>;

  explicit HelperThreads(double timeout_seconds, Failed failed = {})
      : timeout_seconds_(timeout_seconds), failed_(std::move(failed)) {}
  /// Stops and joins them.
  ~HelperThreads();
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  /// Throws SystemError when no thread can be started.
  void start(const HelperRequest& helper, const std::shared_ptr<ChannelBlock>& block);
  /// Makes waiting helpers give up with PeerFailed, because another part of the job has failed.
  void stop() { stop_ = true; }
  bool all_ended() const { return ended_ == static_cast<int>(threads_.size()); }
  /// The first failure of a helper here; null while there is none.
  std::exception_ptr failure() const;
  void join();

 private:
  void run(const HelperRequest& helper, const ChannelBlock& block);

  double timeout_seconds_;
  Failed failed_;
  std::atomic<bool> stop_{false};
  std::atomic<int> ended_{0};
  mutable std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace strobe
