// How jemalloc is to behave, read by it before main(). Linked only where jemalloc is.
//
// Few arenas: threads are few (a loop a core and some in the background). Freed pages go back to the system within a
// second, so that a burst of large requests does not stay in the resident size of an idle broker. It takes a thread of the
// allocator to do that where nobody allocates any more: without one the start of 10,000 partitions left 9 MB behind.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:2,background_thread:true,max_background_threads:1,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
