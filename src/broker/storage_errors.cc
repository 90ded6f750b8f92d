#include "broker/storage_errors.h"

namespace cordwood::broker {

using protocol::ErrorCode;

ErrorCode error_code_of(Errc code) {
  switch (code) {
    case Errc::io:
    case Errc::no_space:
    case Errc::not_found:
    case Errc::exists:
    case Errc::closed:
      return ErrorCode::KAFKA_STORAGE_ERROR;
    case Errc::corrupt:
      return ErrorCode::CORRUPT_MESSAGE;
    case Errc::unsupported:
      return ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT;
    case Errc::out_of_range:
      return ErrorCode::OFFSET_OUT_OF_RANGE;
    case Errc::invalid:
    case Errc::limit:
    case Errc::locked:
      return ErrorCode::UNKNOWN_SERVER_ERROR;
  }
  CHECK(false, "Errc {}", static_cast<int>(code));
}

ErrorCode error_code_of(const storage::AppendResult& result) {
  switch (result.fault) {
    case storage::AppendFault::none:
      return ErrorCode::NONE;
    case storage::AppendFault::record_list_too_large:
      return ErrorCode::RECORD_LIST_TOO_LARGE;
    case storage::AppendFault::out_of_order_sequence:
      return ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
    case storage::AppendFault::invalid_producer_epoch:
      return ErrorCode::INVALID_PRODUCER_EPOCH;
    case storage::AppendFault::invalid_txn_state:
      return ErrorCode::INVALID_TXN_STATE;
    case storage::AppendFault::transaction_coordinator_fenced:
      return ErrorCode::TRANSACTION_COORDINATOR_FENCED;
    case storage::AppendFault::storage_error:
      return result.error ? error_code_of(result.error->code) : ErrorCode::KAFKA_STORAGE_ERROR;
    case storage::AppendFault::offsets_out_of_order:
      return ErrorCode::UNKNOWN_SERVER_ERROR;
  }
  CHECK(false, "AppendFault {}", static_cast<int>(result.fault));
}

ErrorCode error_code_of(record::ProduceFault fault) {
  switch (fault) {
    case record::ProduceFault::none:
      return ErrorCode::NONE;
    case record::ProduceFault::invalid_record:
      return ErrorCode::INVALID_RECORD;
    case record::ProduceFault::corrupt_message:
      return ErrorCode::CORRUPT_MESSAGE;
    case record::ProduceFault::message_too_large:
      return ErrorCode::MESSAGE_TOO_LARGE;
    case record::ProduceFault::invalid_timestamp:
      return ErrorCode::INVALID_TIMESTAMP;
    case record::ProduceFault::unsupported_compression:
      return ErrorCode::UNSUPPORTED_COMPRESSION_TYPE;
    case record::ProduceFault::unknown_server_error:
      return ErrorCode::UNKNOWN_SERVER_ERROR;
  }
  CHECK(false, "ProduceFault {}", static_cast<int>(fault));
}

bool takes_directory_offline(Errc code) {
  switch (code) {
    case Errc::io:
    case Errc::not_found:
    case Errc::exists:
      return true;
    case Errc::no_space:
    case Errc::closed:
    case Errc::corrupt:
    case Errc::unsupported:
    case Errc::out_of_range:
    case Errc::invalid:
    case Errc::limit:
    case Errc::locked:
      return false;
  }
  CHECK(false, "Errc {}", static_cast<int>(code));
}

}  // namespace cordwood::broker
