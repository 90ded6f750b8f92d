// net/request_sink.h — where complete frames go. server/ plugs the broker in.
#pragma once

#include "protocol/exchange.h"

namespace cordwood::net {

class RequestSink {
 public:
  virtual ~RequestSink() = default;
  // Called on the connection's loop, one request of a connection at a time: the next one comes after this one was
  // answered (Kafka's order; a client may pipeline), or when it joins(). Must not block.
  virtual void handle(protocol::Request request) = 0;
  // On the loop, while requests of the connection wait for their answers: whether the next one, in `frame`, may be handed over
  // nevertheless. Their answers may come in any order, and leave in that of the requests.
  virtual bool joins(const protocol::Peer&, BytesView) { return false; }
  // The connection is gone. Called on its loop, after its last handle().
  virtual void disconnected(const protocol::Peer& peer) = 0;
};

}  // namespace cordwood::net
