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

inline void release_to_sanitizer([[maybe_unused]] const void* address) {
#ifdef WAVEFILL_THREAD_SANITIZER
  __tsan_release(const_cast<void*>(address));
#endif
}

inline void acquire_for_sanitizer([[maybe_unused]] const void* address) {
#ifdef WAVEFILL_THREAD_SANITIZER
  __tsan_acquire(const_cast<void*>(address));
#endif
}

}  // namespace wavefill::cpu
