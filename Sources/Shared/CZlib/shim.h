// zlib, for gzip (RFC 1952).
#include <zlib.h>

// Swift sees no macro: deflateInit2 with the window that makes gzip's header and trailer.
static inline int martlet_gzip_begin(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

// The same with a window of 2^bits bytes and tables to match: what is small needs no memory to be cleared for 32 KiB.
static inline int martlet_gzip_begin_small(z_stream *stream, int level, int bits) {
    return deflateInit2(stream, level, Z_DEFLATED, bits + 16, bits - 7, Z_DEFAULT_STRATEGY);
}

// inflateInit2: the window's bits say which of the formats is read.
static inline int martlet_inflate_begin(z_stream *stream, int window) {
    return inflateInit2(stream, window);
}
