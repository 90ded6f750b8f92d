// zstd frames as Kafka's streaming writer makes them: no content size, no checksum. Frames that follow one another are
// read as one.
#include <zstd.h>

#include <memory>

#include "record/codec_output.h"
#include "record/codecs.h"

namespace cordwood::record {
namespace {

struct ContextDeleter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

void must(std::size_t answer, const char* step) {
  CHECK(ZSTD_isError(answer) == 0, "zstd {}: {}", step, ZSTD_getErrorName(answer));
}

}  // namespace

void compress_zstd(BytesView plain, int level, ByteVector& out) {
  thread_local std::unique_ptr<ZSTD_CCtx, ContextDeleter> context(ZSTD_createCCtx());
  must(ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters), "reset");
  must(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level), "level");
  must(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0), "content size flag");
  std::size_t start = out.size();
  std::size_t bound = ZSTD_compressBound(plain.size());
  out.resize(start + bound);
  ZSTD_outBuffer to{out.data() + start, bound, 0};
  ZSTD_inBuffer from{plain.data(), plain.size(), 0};
  std::size_t left = ZSTD_compressStream2(context.get(), &to, &from, ZSTD_e_end);
  must(left, "compress");
  CHECK(left == 0, "zstd leaves {} bytes beyond its own bound", left);
  out.resize(start + to.pos);
}

Result<void> decompress_zstd(BytesView compressed, std::size_t at_most, ByteVector& out) {
  if (compressed.empty()) return {};  // no frame is no data, as Kafka's reader has it
  thread_local std::unique_ptr<ZSTD_DCtx, ContextDeleter> context(ZSTD_createDCtx());
  must(ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only), "reset");
  CodecOutput output(out, at_most);
  ZSTD_inBuffer from{compressed.data(), compressed.size(), 0};
  for (;;) {
    MutableBytesView room = output.room(first_guess(compressed.size()));
    ZSTD_outBuffer to{room.data(), room.size(), 0};
    std::size_t wanted = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(wanted) != 0) return Error{Errc::corrupt, fmt::format("zstd: {}", ZSTD_getErrorName(wanted))};
    output.advance(to.pos);
    if (output.exceeded()) return output.limit_error();
    if (from.pos < from.size || to.pos == to.size) {
      // More input, or perhaps more output inside the context. At the end of the last frame neither is.
      if (wanted == 0 && from.pos == from.size) return {};
      continue;
    }
    if (wanted == 0) return {};
    return Error{Errc::corrupt, "zstd: the data ends inside a frame"};
  }
}

}  // namespace cordwood::record
