// storage/readers_gate.h — many short readers, and now and then somebody who needs them all gone.
//
// A shared mutex whose exclusive side cannot starve: glibc's lets new readers in as long as one is inside, so that a few
// threads that look up without pause would keep a roll waiting for ever. Readers do not exclude each other and pay two
// atomic additions. Safe for all threads; not recursive.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace cordwood::storage {

class ReadersGate {
 public:
  // Inside from construction to destruction. Waits while the gate is closed.
  class Pass {
   public:
    explicit Pass(ReadersGate& gate) : gate_(gate) { gate_.enter(); }
    ~Pass() { gate_.leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    ReadersGate& gate_;
  };

  // Nobody else is inside from construction to destruction.
  class Closure {
   public:
    explicit Closure(ReadersGate& gate) : one_at_a_time_(gate.closing_), gate_(gate) { gate_.close(); }
    ~Closure() { gate_.open(); }
    Closure(const Closure&) = delete;
    Closure& operator=(const Closure&) = delete;

   private:
    std::lock_guard<std::mutex> one_at_a_time_;
    ReadersGate& gate_;
  };

 private:
  void enter() {
    for (;;) {
      closed_.wait(1);
      inside_.fetch_add(1);
      // A closer that came meanwhile may have seen nobody inside yet, and we must not have seen it either.
      if (closed_.load() == 0) return;
      leave();
    }
  }
  void leave() {
    if (inside_.fetch_sub(1) == 1 && closed_.load() != 0) inside_.notify_all();
  }
  void close() {
    closed_.store(1);
    for (std::int32_t left = inside_.load(); left != 0; left = inside_.load()) inside_.wait(left);
  }
  void open() {
    closed_.store(0);
    closed_.notify_all();
  }

  std::mutex closing_;
  std::atomic<std::int32_t> closed_{0};
  std::atomic<std::int32_t> inside_{0};
};

}  // namespace cordwood::storage
