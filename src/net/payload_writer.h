// net/payload_writer.h — sends one answer through a Transport, as far as the socket takes it at a time.
//
// Memory pieces go out together in one sendmsg with the frame's length; a file range of kSendFileFrom bytes and more goes
// by sendfile, announced by MSG_MORE so that the header shares its first packet; smaller ranges are read into memory,
// which costs less than a system call of their own. Where the transport or the source has no use for a descriptor, all
// ranges are read, kReadPiece at a time.
//
// Known limit: bytes that are not in the page cache are read from the disk on the loop, while its other connections
// wait. Readahead makes that rare for sequential readers.
// One thread: the connection's loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/transport.h"
#include "protocol/payload.h"

namespace cordwood::net {

class PayloadWriter {
 public:
  enum class Progress {
    done,
    blocked,      // the socket is full: call again when it is writable
    used_turn,    // `at_most` bytes are out and there are more: call again after others had their turn
    failed,       // error() says why; the stream is broken in the middle of a frame
  };

  // Takes over the next answer. The one before must be done.
  void start(protocol::Payload payload);
  bool busy() const { return busy_; }
  Progress write(Transport& transport, ByteCount at_most);

  std::uint64_t bytes_sent() const { return bytes_sent_; }  // of all answers
  const std::string& error() const { return error_; }
  // True when the failure is the peer's going away, which is nothing to report.
  bool peer_is_gone() const { return peer_is_gone_; }

  static constexpr std::int64_t kSendFileFrom = 16 * KiB;
  static constexpr std::int64_t kReadPiece = 64 * KiB;
  static constexpr std::int64_t kGatherAtMost = 256 * KiB;

 private:
  bool goes_by_sendfile(const FileRange& range, const Transport& transport) const;
  bool gather(const Transport& transport);
  bool read_into_memory(std::size_t index);
  void advance(std::size_t count);
  Progress fail(std::string why, bool peer_is_gone = false);

  protocol::Payload payload_;
  std::vector<BytesView> gathered_;  // what the next sendmsg takes; kept for its capacity
  bool file_follows_ = false;
  std::byte length_[4]{};
  std::size_t length_sent_ = 0;
  std::size_t piece_ = 0;     // the first one that is not sent completely
  std::size_t piece_at_ = 0;  // how much of it is sent, when it is memory; a range is shortened instead
  std::uint64_t bytes_sent_ = 0;
  bool busy_ = false;
  bool peer_is_gone_ = false;
  std::string error_;
};

}  // namespace cordwood::net
