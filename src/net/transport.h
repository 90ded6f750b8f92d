// net/transport.h — how bytes pass a connected socket: as they are, or (one day) through TLS.
//
// A Transport never blocks. Its user calls read and write whenever the socket may be ready for either, in any order, so
// that a TLS transport can do its handshake inside of both.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/types.h"
#include "net/unique_fd.h"

namespace cordwood::net {

struct Moved {
  enum class Status {
    some,         // `count` bytes, at least one
    would_block,  // none now; an event will tell
    end,          // the peer (read) or the file (send_file) has no more
    failed,       // the connection is of no use any more; sys_errno says why
  };
  Status status = Status::some;
  std::size_t count = 0;
  int sys_errno = 0;
};

enum class More { no, yes };  // whether the next bytes follow at once (MSG_MORE), so that a header shares their packet

// One thread: the connection's loop.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int fd() const = 0;
  virtual Moved read(MutableBytesView into) = 0;
  // At most kMostPieces pieces, at least one byte in all.
  virtual Moved write(std::span<const BytesView> pieces, More more) = 0;
  // False where file bytes must come through user space first.
  virtual bool can_send_file() const = 0;
  virtual Moved send_file(int file_fd, FilePosition position, ByteCount size) = 0;

  static constexpr std::size_t kMostPieces = 64;
};

// Plain TCP. Takes over `socket`, which must be connected and non-blocking.
std::unique_ptr<Transport> make_plain_transport(UniqueFd socket);

}  // namespace cordwood::net
