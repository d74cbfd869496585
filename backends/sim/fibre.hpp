// Fibre: a function with a stack of its own that can be left and entered again on the same thread. The simulator runs
// each rank on one, so a thousand ranks need no threads and their order is the scheduler's choice.
#pragma once

#include <cstddef>
#include <functional>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace strobe::sim {

/// Bytes of stack that a rank's program gets.
extern const std::size_t fibre_stack_bytes;

/// How a fibre suspends. Inside a handler, or while an exception is under way, the C++ runtime's state of exceptions
/// must travel with the fibre, which costs calls into the runtime with every switch.
enum class Suspensions { anywhere, outside_handlers };

/// Not thread-safe, and bound to the thread that resumes it first.
class Fibre {
 public:
  /// Reserves a stack with an inaccessible page below it. `body` must not throw. Throws SystemError.
  explicit Fibre(std::function<void()> body, Suspensions suspensions = Suspensions::anywhere);
  /// The fibre must be finished or never have been resumed; otherwise objects on its stack are not destroyed.
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /// Enters the fibre; returns when it suspends or finishes. Do not call it inside a fibre.
  void resume();
  /// Leaves the running fibre (must be this one); returns when it is resumed.
  void suspend();
  /// Whether hand_over may be called: sanitizers need to know where each fibre came from, and ucontext's contexts
  /// cannot be copied.
  static const bool can_hand_over;
  /// Like suspend, but continues in `other`. `other` must be suspended, and will later suspend to where this fibre
  /// would. Both must suspend outside handlers.
  void hand_over(Fibre& other);
  bool finished() const { return finished_; }

 private:
  /// State of the C++ runtime, per thread, about exceptions under way (Itanium C++ ABI, section 2.2.2).
  struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };

#if defined(__x86_64__)
  using Context = void*;  // where the saved registers lie on its stack
#else
  using Context = ucontext_t;
#endif

  /// Sets up a context that begins in `enter` on the fibre's stack.
  void prepare();
  static void enter(unsigned int low, unsigned int high);
  static void enter_self(Fibre* self);
  static void switch_context(Context& save, Context& to);
  void exchange_exception_state();
  void announce_switch(bool into_fibre, bool for_good);
  void complete_switch(bool into_fibre);

  std::function<void()> body_;
  std::byte* memory_ = nullptr;  // guard page, then the stack
  Context own_{};
  Context caller_{};
  ExceptionState exceptions_;
  Suspensions suspensions_;
  bool finished_ = false;
  // Used by sanitizers only.
  void* own_fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
  void* own_thread_ = nullptr;
  void* caller_thread_ = nullptr;
};

}  // namespace strobe::sim
