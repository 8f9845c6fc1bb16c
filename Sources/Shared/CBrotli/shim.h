// Brotli (RFC 7932), both halves.
#include <brotli/decode.h>
#include <brotli/encode.h>
