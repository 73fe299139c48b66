// oneTBB orders what its threads do, but its library is not built for the thread sanitizer, which would
// report every hand-over of work as a race. These two state the order again where the sanitizer looks:
// release before a hand-over, acquire behind it. In any other build they are nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define WAVEFILL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WAVEFILL_THREAD_SANITIZER 1
#endif
#endif

#ifdef WAVEFILL_THREAD_SANITIZER
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace wavefill::cpu {

// What all hand-overs are ordered by. Not an object of the call: to learn its address a thread would have to
// read what is only handed over to it.
inline constinit char hand_over_order = 0;

inline void release_to_sanitizer() {
#ifdef WAVEFILL_THREAD_SANITIZER
  __tsan_release(&hand_over_order);
#endif
}

inline void acquire_for_sanitizer() {
#ifdef WAVEFILL_THREAD_SANITIZER
  __tsan_acquire(&hand_over_order);
#endif
}

}  // namespace wavefill::cpu
