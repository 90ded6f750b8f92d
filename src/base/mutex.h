// base/mutex.h — a mutex that clang's thread-safety analysis understands; on g++ the annotations are empty.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define CORDWOOD_TSA(x) __attribute__((x))
#else
#define CORDWOOD_TSA(x)
#endif
#define CAPABILITY(x) CORDWOOD_TSA(capability(x))
#define SCOPED_CAPABILITY CORDWOOD_TSA(scoped_lockable)
#define GUARDED_BY(x) CORDWOOD_TSA(guarded_by(x))
#define PT_GUARDED_BY(x) CORDWOOD_TSA(pt_guarded_by(x))
#define REQUIRES(...) CORDWOOD_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) CORDWOOD_TSA(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) CORDWOOD_TSA(acquire_capability(__VA_ARGS__))
#define RELEASE(...) CORDWOOD_TSA(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) CORDWOOD_TSA(try_acquire_capability(__VA_ARGS__))
#define ASSERT_CAPABILITY(x) CORDWOOD_TSA(assert_capability(x))
#define NO_THREAD_SAFETY_ANALYSIS CORDWOOD_TSA(no_thread_safety_analysis)

namespace cordwood {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mu_.lock(); }
  void unlock() RELEASE() { mu_.unlock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mu_.try_lock(); }
  // Tells the analysis, inside a lambda, that the enclosing function holds it.
  void assert_held() const ASSERT_CAPABILITY(this) {}

 private:
  std::mutex mu_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.lock(); }
  ~MutexLock() RELEASE() { mu_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Waits with a Mutex held: `condition.wait(mu, predicate)`.
using ConditionVariable = std::condition_variable_any;

}  // namespace cordwood
