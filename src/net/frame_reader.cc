#include "net/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace cordwood::net {
namespace {

class PooledFrame final : public protocol::Frame {
 public:
  PooledFrame(MemoryBlock block, std::size_t size, std::size_t charged, std::shared_ptr<FramePool> pool,
              std::shared_ptr<ByteBudget> budget)
      : block_(std::move(block)), size_(size), charged_(charged), pool_(std::move(pool)), budget_(std::move(budget)) {}
  ~PooledFrame() override {
    pool_->give_back(std::move(block_));
    budget_->give_back({static_cast<std::int64_t>(charged_)});
  }
  MutableBytesView bytes() override { return {block_.data(), size_}; }

 private:
  MemoryBlock block_;
  std::size_t size_;
  std::size_t charged_;
  std::shared_ptr<FramePool> pool_;
  std::shared_ptr<ByteBudget> budget_;
};

}  // namespace

FrameReader::FrameReader(std::shared_ptr<FramePool> pool, std::shared_ptr<ByteBudget> budget, ByteCount largest)
    : pool_(std::move(pool)), budget_(std::move(budget)), largest_(largest.value) {}

FrameReader::~FrameReader() {
  pool_->give_back(std::move(block_));
  budget_->give_back({static_cast<std::int64_t>(charged_)});
  if (overdrawn_) budget_->end_overdraft(this);
}

FrameReader::State FrameReader::take(BytesView& input) {
  if (size_bytes_ < 4) {
    std::size_t count = std::min(4 - size_bytes_, input.size());
    if (count == 0) return State::need_bytes;
    std::memcpy(size_field_ + size_bytes_, input.data(), count);
    size_bytes_ += count;
    input = input.subspan(count);
    if (size_bytes_ < 4) return State::need_bytes;
    size_ = load_be<std::int32_t>(size_field_, 0);
  }
  if (size_ <= 0 || size_ > largest_) return State::bad_size;
  auto size = static_cast<std::size_t>(size_);
  while (filled_ < size) {
    if (!make_room()) return State::need_memory;
    if (input.empty()) return State::need_bytes;
    std::size_t count = std::min({block_.capacity() - filled_, size - filled_, input.size()});
    std::memcpy(block_.data() + filled_, input.data(), count);
    filled_ += count;
    input = input.subspan(count);
  }
  return State::frame_ready;
}

MutableBytesView FrameReader::room() {
  if (size_bytes_ < 4) return {};
  auto size = static_cast<std::size_t>(size_);
  if (size <= kFirstPiece) return {};
  return {block_.data() + filled_, std::min(block_.capacity(), size) - filled_};
}

FrameReader::State FrameReader::filled(std::size_t count) {
  filled_ += count;
  BytesView nothing;
  return take(nothing);
}

std::unique_ptr<protocol::Frame> FrameReader::frame() {
  CHECK(size_bytes_ == 4 && filled_ == static_cast<std::size_t>(size_), "no frame is complete");
  auto whole = std::make_unique<PooledFrame>(std::move(block_), filled_, std::exchange(charged_, 0), pool_, budget_);
  if (std::exchange(overdrawn_, false)) budget_->end_overdraft(this);
  block_ = MemoryBlock();
  size_bytes_ = 0;
  size_ = 0;
  filled_ = 0;
  return whole;
}

bool FrameReader::make_room() {
  if (filled_ < block_.capacity()) return true;
  auto size = static_cast<std::size_t>(size_);
  if (size <= kFirstPiece) {
    budget_->take({size_});
    charged_ = size;
    block_ = MemoryBlock(size);
    return true;
  }
  std::size_t capacity = std::min(size, std::max(kFirstPiece, 2 * block_.capacity()));
  wanted_ = capacity - charged_;
  if (block_.capacity() == 0) {
    budget_->take({static_cast<std::int64_t>(wanted_)});
    block_ = pool_->take(capacity);
  } else {
    auto taken = budget_->try_take({static_cast<std::int64_t>(wanted_)}, this);
    if (taken == ByteBudget::Taken::no) return false;
    overdrawn_ = overdrawn_ || taken == ByteBudget::Taken::overdrawn;
    block_.grow(capacity);
  }
  charged_ = capacity;
  return true;
}

}  // namespace cordwood::net
