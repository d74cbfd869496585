// The file has two numbers for each part: its size plus one (0: not announced), and whether it is made. Whoever makes
// part p holds a lock on byte p (an open file description's, so threads exclude each other too). Locks end with their
// process, whatever ends it. So a part that is not made and can be locked is one that has to be made.
// Invariants: a part is marked as made after all its bytes are written. A worker waits only for parts before its own.
// The lowest part that is not announced waits for nobody, so somebody always goes on.
// Cost: a few system calls a part.
#include "workloads/storage/shared_parts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/errors.hpp"
#include "core/system/parallel.hpp"

namespace strobe {
namespace {

constexpr std::chrono::microseconds shortest_part_pause{100}, longest_part_pause{5000};
constexpr std::int64_t word_bytes = sizeof(std::int64_t);

/// Sleeps longer and longer, as long as the wait for other processes goes on.
class PatientWait {
 public:
  explicit PatientWait(const BeginWait& begin_wait) : begin_wait_(&begin_wait) {}
  void once() {
    if (!goes_on_) goes_on_ = (*begin_wait_)();
    if (!goes_on_()) throw SystemError("another process takes long to make its part of shared data");
    sleep();
  }
  /// The wait for other processes begins after this.
  void once_for_own_process() {
    goes_on_ = nullptr;
    sleep();
  }

 private:
  void sleep() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, longest_part_pause);
  }

  const BeginWait* begin_wait_;
  std::function<bool()> goes_on_;
  std::chrono::microseconds pause_ = shortest_part_pause;
};

/// The file of the parts, as one thread opens it.
class PartsFile {
 public:
  PartsFile(const std::string& path, std::int64_t parts) : path_(path), parts_(parts) {
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file_ < 0) cannot("open");
    if (ftruncate(file_, static_cast<off_t>(2 * parts * word_bytes)) != 0) {
      const int error = errno;
      close(file_);
      errno = error;
      cannot("write");
    }
  }
  ~PartsFile() { close(file_); }
  PartsFile(const PartsFile&) = delete;
  PartsFile& operator=(const PartsFile&) = delete;

  std::int64_t parts() const { return parts_; }
  /// The size of a part; -1 when it is not announced.
  std::int64_t size(std::int64_t part) const { return word(2 * part) - 1; }
  bool made(std::int64_t part) const { return word(2 * part + 1) != 0; }
  void announce(std::int64_t part, std::int64_t size) { set_word(2 * part, size + 1); }
  void mark_made(std::int64_t part) { set_word(2 * part + 1, 1); }

  bool try_lock(std::int64_t byte) {
    if (set_lock(byte, F_WRLCK)) return true;
    if (errno != EAGAIN && errno != EACCES) cannot("lock");
    return false;
  }
  void unlock(std::int64_t byte) { set_lock(byte, F_UNLCK); }

 private:
  [[noreturn]] void cannot(const char* what) const {
    throw SystemError(fmt::format("cannot {} {}: {}", what, path_, std::strerror(errno)));
  }
  bool set_lock(std::int64_t byte, int kind) const {
    struct flock lock {};
    lock.l_type = static_cast<short>(kind);
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(byte);
    lock.l_len = 1;
    return fcntl(file_, F_OFD_SETLK, &lock) == 0;
  }
  std::int64_t word(std::int64_t index) const {
    std::int64_t value = 0;
    if (pread(file_, &value, sizeof value, static_cast<off_t>(index * word_bytes)) != word_bytes) cannot("read");
    return value;
  }
  void set_word(std::int64_t index, std::int64_t value) {
    if (pwrite(file_, &value, sizeof value, static_cast<off_t>(index * word_bytes)) != word_bytes) cannot("write");
  }

  std::string path_;
  std::int64_t parts_;
  int file_ = -1;
};

/// The first failure among the parts of this process. Parts before it are still made, because one of them may fail too.
class FirstFailure {
 public:
  explicit FirstFailure(std::int64_t parts) : end_(parts) {}
  /// Parts from here on are not needed any more.
  std::int64_t end() const { return end_.load(std::memory_order_relaxed); }
  /// Keeps the exception that is handled now; `part` -1: it ends all work.
  void keep(std::int64_t part) {
    const std::lock_guard lock(mutex_);
    if (part >= end_.load()) return;
    end_.store(part);
    error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::atomic<std::int64_t> end_;
  std::exception_ptr error_;
};

/// Parts that all processes together make at a time, because each takes memory. Every processor has one, and one more
/// while its thread waits.
std::int64_t parts_at_once() { return 2 * std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)); }

struct PartNotNeeded {};  // thrown where a part waits for one that failed

/// One thread that makes parts.
class PartWorker {
 public:
  PartWorker(const std::string& path, std::int64_t parts, const BeginWait& begin_wait, const MakePart& make,
             FirstFailure& failure, std::atomic<int>& made_here)
      : file_(path, parts), begin_wait_(begin_wait), make_(make), failure_(failure), made_here_(made_here) {}

  void work() {
    PatientWait wait(begin_wait_);
    while (!all_made()) {
      if (claim_one())
        wait = PatientWait(begin_wait_);
      else if (made_here_ > 0)  // its maker waits for others itself
        wait.once_for_own_process();
      else
        wait.once();
    }
  }

 private:
  class Claim : public Part {
   public:
    Claim(PartWorker& worker, std::int64_t number) : worker_(worker), number_(number) {}
    std::int64_t number() const override { return number_; }
    void announce(std::int64_t size) override { worker_.file_.announce(number_, size); }
    std::int64_t first() override { return worker_.first(number_); }

   private:
    PartWorker& worker_;
    std::int64_t number_;
  };

  bool all_made() {
    while (made_ < failure_.end() && file_.made(made_)) ++made_;
    return made_ >= failure_.end();
  }

  /// Makes the next part that nobody makes: after the last one of this worker, else from the beginning.
  bool claim_one() { return claim_from(std::max(next_, made_)) || claim_from(made_); }

  bool claim_from(std::int64_t part) {
    for (; part < std::min(failure_.end(), made_ + parts_at_once()); ++part) {
      if (!make_if_free(part)) continue;
      next_ = part + 1;
      return true;
    }
    return false;
  }

  bool make_if_free(std::int64_t part) {
    if (file_.made(part) || !file_.try_lock(part)) return false;
    const bool is_free = !file_.made(part);
    if (is_free) make(part);
    file_.unlock(part);
    return is_free;
  }

  void make(std::int64_t part) {
    ++made_here_;
    try {
      Claim claim(*this, part);
      make_(claim);
      file_.mark_made(part);
    } catch (const PartNotNeeded&) {
    } catch (...) {
      failure_.keep(part);
    }
    --made_here_;
  }

  std::int64_t first(std::int64_t part) {
    if (part < known_) known_ = sum_ = 0;
    for (PatientWait wait(begin_wait_);;) {
      for (std::int64_t size = 0; known_ < part && (size = file_.size(known_)) >= 0; ++known_) sum_ += size;
      if (known_ == part) return sum_;
      if (failure_.end() <= part) throw PartNotNeeded();
      if (make_if_free(known_)) continue;  // its process is gone
      wait_once(wait);
    }
  }

  /// A wait that ends does so for all threads, not for one part.
  void wait_once(PatientWait& wait) {
    try {
      wait.once();
    } catch (...) {
      failure_.keep(-1);
      throw PartNotNeeded();
    }
  }

  PartsFile file_;
  const BeginWait& begin_wait_;
  const MakePart& make_;
  FirstFailure& failure_;
  std::atomic<int>& made_here_;       // parts that threads of this process make now
  std::int64_t made_ = 0;             // all parts before it are made
  std::int64_t next_ = 0;             // where this worker looks first
  std::int64_t known_ = 0, sum_ = 0;  // sizes of the parts before known_
};

}  // namespace

SharedParts::SharedParts(std::string path, std::int64_t parts, BeginWait begin_wait)
    : path_(std::move(path)), parts_(parts), begin_wait_(std::move(begin_wait)) {}

void SharedParts::make_all(const MakePart& make, int threads) const {
  std::mutex mutex;
  const BeginWait one_thread_waits = [&] {  // the caller's waits know nothing of threads
    const std::lock_guard lock(mutex);
    return [&mutex, goes_on = begin_wait_()] {
      const std::lock_guard again(mutex);
      return goes_on();
    };
  };
  FirstFailure failure(parts_);
  std::atomic<int> made_here{0};
  Workers workers(static_cast<int>(std::min<std::int64_t>(threads, parts_)));
  workers.run(workers.threads(), [&](std::int64_t) {
    try {
      PartWorker(path_, parts_, one_thread_waits, make, failure, made_here).work();
    } catch (...) {
      failure.keep(-1);
    }
  });
  failure.rethrow();
}

std::int64_t SharedParts::total() const {
  const PartsFile file(path_, parts_);
  std::int64_t sum = 0;
  for (std::int64_t part = 0; part < parts_; ++part) sum += file.size(part);
  return sum;
}

void SharedParts::one_at_a_time(const std::function<void()>& finish) const {
  PartsFile file(path_, parts_);
  for (PatientWait wait(begin_wait_); !file.try_lock(parts_);) wait.once();
  finish();  // closing the file ends the lock
}

}  // namespace strobe
