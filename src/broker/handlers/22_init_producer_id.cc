// InitProducerId (key 22), versions 0-5: v2 flexible, v3 producer id and epoch, v4 PRODUCER_FENCED.
//
// Without a transactional id: a new producer id with epoch 0 for an idempotent producer; an id and epoch of before are
// taken only together, and do not matter. With one: there is no transaction coordinator yet, which is what we say.
#include <memory>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/producer_ids.h"
#include "protocol/messages/init_producer_id.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::InitProducerIdRequest;
using protocol::InitProducerIdResponse;

constexpr std::int64_t kNoProducerId = -1;
constexpr std::int16_t kNoProducerEpoch = -1;

ErrorCode check(const Exchange& exchange, const InitProducerIdRequest& request) {
  if (request.transactional_id) {
    if (authorise(exchange, Operation::write, Resource::transactional_id, *request.transactional_id) == Verdict::denied) {
      return ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    }
  } else if (authorise(exchange, Operation::idempotent_write, Resource::cluster, kClusterResource) == Verdict::denied) {
    return ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
  }
  if ((request.producer_id == kNoProducerId) != (request.producer_epoch == kNoProducerEpoch)) {
    return ErrorCode::INVALID_REQUEST;
  }
  if (!request.transactional_id) return ErrorCode::NONE;
  return request.transactional_id->empty() ? ErrorCode::INVALID_REQUEST : ErrorCode::COORDINATOR_NOT_AVAILABLE;
}

}  // namespace

void handle_init_producer_id(Broker& broker, Exchange exchange) {
  InitProducerIdRequest request;
  if (!exchange.decode(request)) return;
  InitProducerIdResponse response;
  response.error_code = check(exchange, request);
  if (response.error_code != ErrorCode::NONE) {
    response.producer_epoch = kNoProducerEpoch;
    return exchange.answer(response);
  }
  // std::function wants to be copied, an exchange must not be.
  auto waiting = std::make_shared<Exchange>(std::move(exchange));
  broker.producer_ids().allocate([waiting](Result<std::int64_t> id) {
    InitProducerIdResponse answer;
    if (id) {
      answer.producer_id = *id;
    } else {
      answer.error_code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
      answer.producer_epoch = kNoProducerEpoch;
    }
    waiting->answer(answer);
  });
}

}  // namespace cordwood::broker
