// The processes that run one suite together. They agree on what they are about to do, so that none trains on other
// data than the rest, and none waits for one that could not even begin.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "core/fields.hpp"
#include "harness/process/world.hpp"

namespace strobe {

/// What a process does before it agrees with the others; returns what must be the same for all (32 bytes, say).
using PrepareDigest = std::function<std::string()>;
/// What stands behind it, to name the difference: asked for only when there is one, of every process.
using Account = std::function<Json()>;

class Ranks {
 public:
  /// A process of its own.
  Ranks() = default;
  /// Of the world of `comm`, in which the others are waited for `seconds` long. All of its processes meet here.
  Ranks(const CommunicatorTag::Value& comm, const World& launched, double seconds);

  const World& world() const { return world_; }
  bool several() const { return world_.size > 1; }
  bool first() const { return world_.rank == 0; }
  /// By rank; one without a world.
  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Every process prepares. Throws on all of them when one fails, or when what they return differs: its own exception
  /// in a process that failed, and else one of the same kind that names rank and host.
  void agree(const PrepareDigest& prepare, const Account& account) const;

  /// The same, after which the run cannot go on: each process that failed or differs says so on standard error before
  /// any of them ends, and the first one says it in any case. Throws Told.
  void agree_or_end(const PrepareDigest& prepare, const Account& account) const;

  /// The first process does `work`; all get what it returned. Ends like agree_or_end.
  std::string first_does(const std::function<std::string()>& work) const;

 private:
  struct Word;
  struct Outcome {
    std::exception_ptr error;  // null when all is well
    std::string words;         // for standard error; "" = another process says it
  };

  Outcome meet(const PrepareDigest& prepare, const Account& account) const;
  std::vector<Word> exchange(const PrepareDigest& prepare, std::exception_ptr& failure) const;
  Outcome outcome_of(const std::vector<Word>& words, const std::exception_ptr& failure, const Account& account) const;
  Outcome failed(const std::vector<Word>& words, const std::exception_ptr& failure) const;
  Outcome differing(const Account& account) const;
  [[noreturn]] void end(const Outcome& outcome) const;
  std::string name(std::size_t rank) const;

  World world_;
  std::vector<std::string> hosts_;
  std::vector<std::string> (*gather_)(const std::string&, double) = nullptr;
  double seconds_ = 0;
};

}  // namespace strobe
