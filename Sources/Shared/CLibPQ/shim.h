// libpq, and the Linux calls that Swift's Glibc module leaves out.
#include <libpq-fe.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// `prctl` takes a variable number of arguments, which Swift cannot call.
static inline void martlet_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}
