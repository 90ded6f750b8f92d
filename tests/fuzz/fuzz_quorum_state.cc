// The file quorum-state: whatever is accepted is written and read as the same.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "broker/metadata/quorum_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordwood;
  using namespace cordwood::broker::metadata;
  Result<QuorumState> state = parse_quorum_state(as_text(std::as_bytes(std::span(data, size))), "input");
  if (!state) return 0;
  Result<QuorumState> again = parse_quorum_state(format_quorum_state(*state), "formatted");
  if (!again || !(*again == *state)) std::abort();
  return 0;
}
