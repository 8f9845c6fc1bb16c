#ifndef MARTLETKIT_SIGNALS_H
#define MARTLETKIT_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

// Writes a report when the process dies by a signal. In C, because a signal handler may do nothing that Swift does
// behind the scenes: allocate, count references, initialize globals lazily. Everything the handler needs is prepared
// before: the file is open, buffers have their size, images are known.

// Starts watching. `path` is the file that a report goes to; it is created, and stays empty without a crash. Returns 0,
// or errno. A second call only changes the file.
int martlet_signals_start(const char *path);

// Sets the text that is written into a report: at most 64 KiB; what is longer is cut off. Not to be called by two
// threads at once.
void martlet_signals_set_context(const char *text, size_t length);

// Collects the images of code that are loaded now. On Darwin this also happens when an image is loaded later.
void martlet_signals_note_images(void);

// An image of code, as a report needs it for symbolication.
struct martlet_image {
    uint64_t address;       // where it is loaded
    uint64_t size;
    uint64_t preferred;     // the address it was linked for
    uint8_t id[20];         // Mach-O UUID or ELF build id
    uint32_t id_length;
    char path[232];
};

// Copies at most `capacity` known images, and returns how many it copied.
size_t martlet_signals_images(struct martlet_image *into, size_t capacity);

// The return addresses of the caller, innermost first, by the frame pointers of this thread. Returns how many.
size_t martlet_signals_backtrace(uint64_t *into, size_t capacity);

#endif
