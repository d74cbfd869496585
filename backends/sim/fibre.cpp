// Invariants: the caller's context is saved by resume() and restored by suspend() or at the end; the runtime's list of
// caught exceptions travels with the fibre, so a rank may wait for a collective inside a catch block. Sanitizers hear
// of every switch. Cost: on x86-64 a switch saves and loads the registers that a call must keep (System V ABI,
// section 3.2.1: rbx, rbp, r12 to r15, and the control words of both floating-point units); elsewhere it is ucontext's,
// two system calls for the signal mask, about 0.5 us.
#include "backends/sim/fibre.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/errors.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define STROBE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STROBE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define STROBE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STROBE_TSAN 1
#endif
#endif
#ifdef STROBE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef STROBE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace strobe::sim {

// Sanitizers put guard zones around every local, so frames grow.
#if defined(STROBE_ASAN) || defined(STROBE_TSAN)
const std::size_t fibre_stack_bytes = 1024 * 1024;
#else
const std::size_t fibre_stack_bytes = 256 * 1024;
#endif
#if defined(__x86_64__) && !defined(STROBE_ASAN) && !defined(STROBE_TSAN)
const bool Fibre::can_hand_over = true;
#else
const bool Fibre::can_hand_over = false;
#endif

namespace {
std::size_t page_bytes() {
  static const std::size_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}
}  // namespace

Fibre::Fibre(std::function<void()> body, Suspensions suspensions) : body_(std::move(body)), suspensions_(suspensions) {
  const std::size_t bytes = page_bytes() + fibre_stack_bytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw SystemError(fmt::format("stack of a simulated rank: {}", std::strerror(errno)));
  memory_ = static_cast<std::byte*>(memory);
  if (mprotect(memory_, page_bytes(), PROT_NONE) != 0) {
    const int cause = errno;
    munmap(memory_, bytes);
    throw SystemError(fmt::format("stack of a simulated rank: {}", std::strerror(cause)));
  }
  prepare();
#ifdef STROBE_TSAN
  own_thread_ = __tsan_create_fiber(0);
#endif
}

Fibre::~Fibre() {
#ifdef STROBE_ASAN
  __asan_unpoison_memory_region(memory_ + page_bytes(), fibre_stack_bytes);
#endif
#ifdef STROBE_TSAN
  __tsan_destroy_fiber(own_thread_);
#endif
  munmap(memory_, page_bytes() + fibre_stack_bytes);
}

#if defined(__x86_64__)

// Saves the calling context at *save and goes on at `to`, whose stack holds what this function pushed there before.
// Control words are loaded only where they differ (of mxcsr the bits above its flags, which a call need not keep). The
// end is a jump: a return would be predicted to go where this call came from, and never does.
asm(R"(
.text
.p2align 4
.globl strobe_switch_stack
.hidden strobe_switch_stack
.type strobe_switch_stack, @function
strobe_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movl (%rsp), %eax
  movzwl 4(%rsp), %ecx
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  xorl (%rsp), %eax
  testl $0xffc0, %eax
  je 1f
  ldmxcsr (%rsp)
1:
  cmpw 4(%rsp), %cx
  je 2f
  fldcw 4(%rsp)
2:
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  notrack jmp *%rcx
.size strobe_switch_stack, .-strobe_switch_stack
.globl strobe_begin_fibre
.hidden strobe_begin_fibre
.type strobe_begin_fibre, @function
strobe_begin_fibre:
  movq %r12, %rdi
  xorl %ebp, %ebp
  call *%r13
  ud2
.size strobe_begin_fibre, .-strobe_begin_fibre
)");
extern "C" void strobe_switch_stack(void** save, void* to);
extern "C" void strobe_begin_fibre();

// Odd multiples of a line of the caches, over the room of an associative set of each of them.
constexpr std::size_t stack_shift_bytes = 5 * 64, most_stack_shift_bytes = 16 * 1024;

void Fibre::prepare() {
  // From the top: unused bytes, a number that differs from fibre to fibre (stacks lie whole pages apart, and what they
  // hold at the same distance from their ends would compete for the same few lines of the caches), room that keeps the
  // stack aligned to 16 bytes at the first call, the place to return to, and the registers as strobe_switch_stack pops
  // them.
  static std::atomic<std::size_t> made{0};
  const std::size_t unused = made.fetch_add(1, std::memory_order_relaxed) * stack_shift_bytes % most_stack_shift_bytes;
  auto* top = reinterpret_cast<std::uint64_t*>(memory_ + page_bytes() + fibre_stack_bytes - unused);
  top -= 2;
  *--top = reinterpret_cast<std::uint64_t>(&strobe_begin_fibre);
  top -= 6;
  std::memset(top, 0, 6 * sizeof(*top));
  top[3] = reinterpret_cast<std::uint64_t>(this);                // r12
  top[2] = reinterpret_cast<std::uint64_t>(&Fibre::enter_self);  // r13
  std::uint32_t vector_control = 0;
  std::uint16_t x87_control = 0;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(vector_control), "=m"(x87_control));
  *--top = vector_control | std::uint64_t{x87_control} << 32;
  own_ = top;
}

void Fibre::switch_context(Context& save, Context& to) { strobe_switch_stack(&save, to); }

#else

void Fibre::prepare() {
  if (getcontext(&own_) != 0) throw SystemError(fmt::format("context of a simulated rank: {}", std::strerror(errno)));
  own_.uc_stack.ss_sp = memory_ + page_bytes();
  own_.uc_stack.ss_size = fibre_stack_bytes;
  own_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  // makecontext passes ints, so the pointer goes in two halves.
  makecontext(&own_, reinterpret_cast<void (*)()>(&Fibre::enter), 2, static_cast<unsigned int>(self & 0xffffffffu),
              static_cast<unsigned int>(static_cast<std::uint64_t>(self) >> 32));
}

void Fibre::switch_context(Context& save, Context& to) { swapcontext(&save, &to); }

#endif

void Fibre::enter(unsigned int low, unsigned int high) {
  const auto self = static_cast<std::uintptr_t>((static_cast<std::uint64_t>(high) << 32) | low);
  enter_self(reinterpret_cast<Fibre*>(self));
}

void Fibre::enter_self(Fibre* self) {
  self->complete_switch(true);
  self->body_();
  self->finished_ = true;
  self->announce_switch(false, true);
  switch_context(self->own_, self->caller_);
}

void Fibre::resume() {
  if (suspensions_ == Suspensions::anywhere) exchange_exception_state();
  announce_switch(true, false);
  switch_context(caller_, own_);
  complete_switch(false);
  if (suspensions_ == Suspensions::anywhere) exchange_exception_state();
}

void Fibre::suspend() {
  announce_switch(false, false);
  switch_context(own_, caller_);
  complete_switch(true);
}

void Fibre::hand_over(Fibre& other) {
  other.caller_ = caller_;
  switch_context(own_, other.own_);
}

void Fibre::exchange_exception_state() {
  abi::__cxa_eh_globals* runtime = abi::__cxa_get_globals();
  ExceptionState current;
  std::memcpy(static_cast<void*>(&current), runtime, sizeof(current));
  std::memcpy(static_cast<void*>(runtime), &exceptions_, sizeof(exceptions_));
  exceptions_ = current;
}

void Fibre::announce_switch([[maybe_unused]] bool into_fibre, [[maybe_unused]] bool for_good) {
#ifdef STROBE_ASAN
  if (into_fibre) {
    __sanitizer_start_switch_fiber(&caller_fake_stack_, memory_ + page_bytes(), fibre_stack_bytes);
  } else {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &own_fake_stack_, caller_stack_, caller_stack_bytes_);
  }
#endif
#ifdef STROBE_TSAN
  if (into_fibre) caller_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(into_fibre ? own_thread_ : caller_thread_, 0);
#endif
}

void Fibre::complete_switch([[maybe_unused]] bool into_fibre) {
#ifdef STROBE_ASAN
  if (into_fibre) {
    __sanitizer_finish_switch_fiber(own_fake_stack_, &caller_stack_, &caller_stack_bytes_);
  } else {
    __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
  }
#endif
}

}  // namespace strobe::sim
