// The processes that run one suite together. They agree on their input before they start. So no process trains on other
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

/// The work of a process before it agrees with the others. Returns the value that must be the same for all, such as 32
/// bytes.
using PrepareDigest = std::function<std::string()>;
/// The details of that value, to name a difference. Every process is asked for them, and only when the values differ.
using Account = std::function<Json()>;

class Ranks {
 public:
  /// A single process without others.
  Ranks() = default;
  /// The processes of `comm`'s world. Each waits up to `seconds` for the others. All processes meet here.
  Ranks(const CommunicatorTag::Value& comm, const World& launched, double seconds);

  const World& world() const { return world_; }
  bool several() const { return world_.size > 1; }
  bool first() const { return world_.rank == 0; }
  /// By rank; one without a world.
  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Every process prepares. Throws on all processes when one fails, or when their results differ. A process that
  /// failed throws its own exception; the others throw one of the same kind that names rank and host.
  void agree(const PrepareDigest& prepare, const Account& account) const;

  /// The same for errors that the run cannot survive. Each process that failed or differs prints the reason on standard
  /// error before any of them ends. The first process prints it in any case. Throws AlreadyReported.
  void agree_or_end(const PrepareDigest& prepare, const Account& account) const;

  /// The first process does `work`, and all processes get its result. Ends like agree_or_end.
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
