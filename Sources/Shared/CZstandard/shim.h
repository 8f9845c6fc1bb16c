// Zstandard (RFC 8878).
#include <zstd.h>
