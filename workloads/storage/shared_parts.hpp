// Parts of a value that threads and processes of one machine make together. Each part is made once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace strobe {

/// Begins a wait for another process. The result is called again and again. It returns false when this process should
/// stop waiting, and throws when the run cannot go on.
using BeginWait = std::function<std::function<bool()>()>;

/// A part while a thread makes it.
class Part {
 public:
  virtual ~Part() = default;
  virtual std::int64_t number() const = 0;
  /// Tells the others the size of this part. Call it once, as early as the size is known.
  virtual void announce(std::int64_t size) = 0;
  /// The sum of the sizes of all parts before this one. Waits for them, and makes those whose makers are gone.
  virtual std::int64_t first() = 0;
};

/// Makes a part. Its result must depend on the part's number alone.
using MakePart = std::function<void(Part&)>;

/// The parts are counted in the file `path`, which each process opens. A part whose process was killed is made again by
/// another one. Every failure of the operating system is a SystemError that names the path.
class SharedParts {
 public:
  SharedParts(std::string path, std::int64_t parts, BeginWait begin_wait);

  /// Makes parts on `threads` threads until all are made, by whichever process. All processes together make at most two
  /// parts a processor at a time. When parts fail, rethrows the exception of the first one: every process throws the
  /// same.
  void make_all(const MakePart& make, int threads) const;

  /// The sum of the sizes of all parts. Call it after make_all.
  std::int64_t total() const;

  /// Calls `finish` while no other process calls its own.
  void one_at_a_time(const std::function<void()>& finish) const;

 private:
  std::string path_;
  std::int64_t parts_;
  BeginWait begin_wait_;
};

}  // namespace strobe
