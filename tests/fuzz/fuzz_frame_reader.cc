// The byte stream of two connections that share one budget, cut into frames. The input is a list of steps:
//   byte 0: which of the two connections, and whether the step makes up a large frame's body;
//   byte 1: how many of the following bytes arrive with this step (a body of zeros is 256 times as long).
//
// What comes out must be what a reader of the whole stream would cut, no reader may hold much more memory than has
// arrived, and at the end nothing is charged to the budget.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "net/frame_reader.h"

namespace {
using namespace cordwood;
using namespace cordwood::net;
using State = FrameReader::State;

constexpr ByteCount kLargest{1 * MiB};
constexpr ByteCount kBudget{1 * MiB + 64 * KiB};

struct Stream {
  FrameReader reader;
  ByteVector arrived;        // all of it
  std::size_t cut = 0;       // where the next frame begins in it
  ByteVector waiting;        // not taken yet, because the budget was used up
  bool dead = false;
};

// The frame that begins at `cut`, as somebody would cut it who has the whole stream: its body, or why there is none.
struct Expected {
  State state = State::need_bytes;
  BytesView body;
};
Expected expected_at(const Stream& stream) {
  const BytesView rest = BytesView(stream.arrived).subspan(stream.cut);
  if (rest.size() < 4) return {};
  const auto size = load_be<std::int32_t>(rest, 0);
  if (size <= 0 || size > kLargest.value) return {State::bad_size, {}};
  if (rest.size() - 4 < static_cast<std::size_t>(size)) return {};
  return {State::frame_ready, rest.subspan(4, static_cast<std::size_t>(size))};
}

// As a connection does: into the frame where the reader says so, through take() else.
State feed(FrameReader& reader, BytesView& input) {
  const MutableBytesView room = reader.room();
  if (room.empty()) return reader.take(input);
  const std::size_t count = std::min(room.size(), input.size());
  if (count == 0) return reader.take(input);
  std::memcpy(room.data(), input.data(), count);
  input = input.subspan(count);
  return reader.filled(count);
}

void go_on(Stream& stream) {
  BytesView input = stream.waiting;
  while (!stream.dead) {
    const std::size_t before = input.size();
    const State state = feed(stream.reader, input);
    if (state == State::frame_ready) {
      const Expected expected = expected_at(stream);
      const std::unique_ptr<protocol::Frame> frame = stream.reader.frame();
      CHECK(expected.state == State::frame_ready, "a frame came before its last byte");
      CHECK(std::ranges::equal(frame->bytes(), expected.body), "a frame has other bytes than arrived");
      stream.cut += 4 + expected.body.size();
    } else if (state == State::bad_size) {
      CHECK(expected_at(stream).state == State::bad_size, "a good size was refused");
      stream.dead = true;
    } else if (state == State::need_memory || input.empty()) {
      break;
    } else {
      CHECK(input.size() < before, "the reader takes nothing and wants more");
    }
  }
  ByteVector rest(input.begin(), input.end());
  stream.waiting = std::move(rest);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  BytesView input = std::as_bytes(std::span(data, size));
  auto pool = std::make_shared<FramePool>(ByteCount{256 * KiB});
  auto budget = std::make_shared<ByteBudget>(kBudget);
  {
    std::array<Stream, 2> streams{Stream{{pool, budget, kLargest}, {}, 0, {}, false},
                                  Stream{{pool, budget, kLargest}, {}, 0, {}, false}};
    std::size_t most = 4 * MiB;  // of bytes that a step may make up
    while (input.size() >= 2) {
      const auto how = static_cast<std::uint8_t>(input[0]);
      std::size_t count = static_cast<std::uint8_t>(input[1]);
      input = input.subspan(2);
      ByteVector piece;
      if ((how & 2) != 0) {
        piece.assign(std::min(most, count * 256), std::byte{0});
        most -= piece.size();
      } else {
        count = std::min(count, input.size());
        piece.assign(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(count));
        input = input.subspan(count);
      }
      Stream& stream = streams[how & 1];
      if (stream.dead) continue;
      stream.arrived.insert(stream.arrived.end(), piece.begin(), piece.end());
      stream.waiting.insert(stream.waiting.end(), piece.begin(), piece.end());
      go_on(stream);
      go_on(streams[(how & 1) ^ 1]);
      const std::size_t unfinished = (streams[0].arrived.size() - streams[0].cut) + (streams[1].arrived.size() - streams[1].cut);
      CHECK(budget->used().value <= static_cast<std::int64_t>(2 * unfinished + 2 * FrameReader::kFirstPiece),
            "{} bytes are held for {} that arrived", budget->used().value, unfinished);
    }
    for (Stream& stream : streams) {
      go_on(stream);
      const bool all_taken = stream.dead || stream.waiting.empty() || stream.reader.memory_wanted() > ByteCount{0};
      CHECK(all_taken, "bytes are left that nothing waits for");
      if (!stream.dead && stream.waiting.empty()) {
        CHECK(expected_at(stream).state == State::need_bytes, "a whole frame was not handed out");
      }
    }
  }
  CHECK(budget->used() == ByteCount{0}, "{} bytes stay charged", budget->used().value);
  return 0;
}
