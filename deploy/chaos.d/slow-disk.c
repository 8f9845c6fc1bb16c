// Preloaded into the server by deploy/chaos: while the file CHAOS_SLOW_DISK exists, each flush takes half a second longer,
// as on a disk that is overloaded or about to fail.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_if_slow(void) {
    const char *flag = getenv("CHAOS_SLOW_DISK");
    if (flag && access(flag, F_OK) == 0) usleep(500 * 1000);
}

int fsync(int file) {
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_if_slow();
    return next(file);
}

int fdatasync(int file) {
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_if_slow();
    return next(file);
}
