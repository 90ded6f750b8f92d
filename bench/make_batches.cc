// Writes the batches that both engines append: make_batches <file> <batches> <records per batch> <bytes per value>.
#include "measuring.h"
#include "record/builder.h"

int main(int argc, char** argv) {
  using namespace cordwood;
  if (argc != 5) {
    std::fprintf(stderr, "usage: make_batches <file> <batches> <records per batch> <bytes per value>\n");
    return 1;
  }
  bench::Surroundings around;
  auto batches = std::atoi(argv[2]);
  auto records = std::atoi(argv[3]);
  ByteVector value(static_cast<std::size_t>(std::atoi(argv[4])));
  ByteVector out;
  std::int64_t time = around.clock.now().value;
  for (int i = 0; i < batches; ++i) {
    record::BatchBuilder builder{record::BatchOptions{}};
    for (int r = 0; r < records; ++r) {
      for (auto& byte : value) byte = static_cast<std::byte>(around.random.next());
      builder.add({time}, std::nullopt, value);
    }
    ByteVector batch = builder.build();
    out.insert(out.end(), batch.begin(), batch.end());
  }
  bench::must(io::write_file_atomically(around.fs, argv[1], out, io::Fsync::no));
  return 0;
}
