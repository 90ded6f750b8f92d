// net/frame_reader.h — cuts the byte stream of a connection into frames: i32 size, then that many bytes.
//
// The size is a claim: memory is taken as the bytes arrive, at first kFirstPiece and then doubling, so that announcing
// 100 MiB costs the announcer as much as us. Between frames the reader holds no memory.
// One thread: the connection's loop. The frames that it hands out may be freed anywhere.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "net/byte_budget.h"
#include "net/frame_memory.h"
#include "protocol/exchange.h"

namespace cordwood::net {

class FrameReader {
 public:
  enum class State {
    need_bytes,
    need_memory,  // the budget is used up: wait() for it, then call take() again
    frame_ready,  // frame() has it
    bad_size,     // zero, negative or above the limit: the connection is of no use any more
  };

  FrameReader(std::shared_ptr<FramePool> pool, std::shared_ptr<ByteBudget> budget, ByteCount largest);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // Takes bytes off the front of `input` until one frame is complete or nothing is left.
  State take(BytesView& input);

  // In the middle of a large frame: where its next bytes belong, to be read from the socket without a copy; then tell
  // filled(). Empty where take() must be used.
  MutableBytesView room();
  State filled(std::size_t count);

  // After frame_ready, once.
  std::unique_ptr<protocol::Frame> frame();

  bool inside_frame() const { return size_bytes_ > 0; }
  std::int32_t announced_size() const { return size_; }
  // True while this frame takes more memory than the budget has; everybody else waits for it.
  bool overdrawn() const { return overdrawn_; }
  ByteCount memory_wanted() const { return {static_cast<std::int64_t>(wanted_)}; }

  static constexpr std::size_t kFirstPiece = 64 * KiB;

 private:
  bool make_room();

  std::shared_ptr<FramePool> pool_;
  std::shared_ptr<ByteBudget> budget_;
  const std::int64_t largest_;

  std::byte size_field_[4]{};
  std::size_t size_bytes_ = 0;  // how many bytes of the size field are here; 0 between frames
  std::int32_t size_ = 0;
  std::size_t filled_ = 0;
  std::size_t charged_ = 0;     // taken from the budget for block_
  std::size_t wanted_ = 0;      // the piece that the budget refused
  bool overdrawn_ = false;
  MemoryBlock block_;
};

}  // namespace cordwood::net
