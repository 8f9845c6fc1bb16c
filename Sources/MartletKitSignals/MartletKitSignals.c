#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "MartletKitSignals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <TargetConditionals.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <sys/ucontext.h>
#else
#include <elf.h>
#include <link.h>
#include <ucontext.h>
#endif

enum { image_limit = 1024, context_limit = 64 << 10, frame_limit = 256, stack_size = 128 << 10 };

static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
enum { signal_count = sizeof signals / sizeof signals[0] };

static struct sigaction previous[signal_count];
static bool is_watching;
static _Atomic int report_file = -1;
static int probe[2] = {-1, -1};
static _Atomic uintptr_t reporting_thread;

static struct martlet_image images[image_limit];
static _Atomic size_t image_count;

// Two buffers: one is complete at any time.
static char contexts[2][context_limit];
static size_t context_lengths[2];
static _Atomic int current_context;

// Writing. Only write(2), which is async-signal-safe.

struct output {
    int file;
    size_t count;
    char bytes[1024];
};

static void flush_output(struct output *out) {
    size_t done = 0;
    while (done < out->count) {
        ssize_t written = write(out->file, out->bytes + done, out->count - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        done += (size_t)written;
    }
    out->count = 0;
}

static void put_bytes(struct output *out, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (out->count == sizeof out->bytes) flush_output(out);
        out->bytes[out->count++] = bytes[i];
    }
}

static void put(struct output *out, const char *text) {
    size_t length = 0;
    while (text[length] != 0) length++;
    put_bytes(out, text, length);
}

static void put_hex(struct output *out, uint64_t number) {
    char digits[16];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number != 0);
    while (count > 0) put_bytes(out, &digits[--count], 1);
}

static void put_field(struct output *out, uint64_t number) {
    put(out, " ");
    put_hex(out, number);
}

// Reading memory that may not be there: write(2) answers EFAULT instead of crashing.

static bool read_pair(uint64_t address, uint64_t pair[2]) {
    if (address == 0 || (address & 7) != 0 || probe[1] < 0) return false;
    if (write(probe[1], (const void *)(uintptr_t)address, 16) != 16) return false;
    return read(probe[0], pair, 16) == 16;
}

// Frames: [pointer to the caller's frame][return address]. Swift and Clang keep them on all platforms that matter here.
// The addresses must grow, so that a damaged stack ends the walk.

// Swift marks the frames of async functions in the upper four bits of the pointer.
static uint64_t caller_of(uint64_t saved) { return saved & 0x0fffffffffffffffull; }

static size_t walk(uint64_t frame, uint64_t *into, size_t capacity) {
    size_t count = 0;
    uint64_t pair[2];
    while (count < capacity && read_pair(frame, pair)) {
        uint64_t address = pair[1];
#if defined(__APPLE__) && defined(__arm64__)
        address &= 0x0000007fffffffffull;   // without the signature of pointer authentication
#endif
        if (address < 4096) break;
        into[count++] = address;
        if (caller_of(pair[0]) <= frame) break;
        frame = caller_of(pair[0]);
    }
    return count;
}

static bool is_code(uint64_t address) {
    size_t count = atomic_load(&image_count);
    for (size_t i = 0; i < count; i++) {
        if (address >= images[i].address && address - images[i].address < images[i].size) return true;
    }
    return false;
}

static bool is_frame(uint64_t frame, uint64_t pair[2]) {
    if (!read_pair(frame, pair)) return false;
    pair[0] = caller_of(pair[0]);
    return pair[0] > frame && pair[0] - frame < 1 << 20 && is_code(pair[1]);
}

// The C library of Linux keeps no frame pointers, so a process that dies in abort() or kill() has none in its register.
// The first two frames on the stack that fit together are its caller's.
static uint64_t find_frame(uint64_t frame, uint64_t stack) {
    uint64_t pair[2], next[2];
    if (is_frame(frame, pair)) return frame;
    for (int i = 0; i < 1024; i++) {
        uint64_t place = (stack & ~7ull) + 8 * (uint64_t)i;
        if (is_frame(place, pair) && is_frame(pair[0], next)) return place;
    }
    return frame;
}

static void registers(const void *context, uint64_t *pc, uint64_t *frame, uint64_t *stack) {
    const ucontext_t *machine = context;
    *pc = *frame = *stack = 0;
    if (machine == NULL) return;
#if defined(__APPLE__) && defined(__arm64__)
    *pc = machine->uc_mcontext->__ss.__pc;
    *frame = machine->uc_mcontext->__ss.__fp;
    *stack = machine->uc_mcontext->__ss.__sp;
#elif defined(__APPLE__) && defined(__x86_64__)
    *pc = machine->uc_mcontext->__ss.__rip;
    *frame = machine->uc_mcontext->__ss.__rbp;
    *stack = machine->uc_mcontext->__ss.__rsp;
#elif defined(__linux__) && defined(__x86_64__)
    *pc = (uint64_t)machine->uc_mcontext.gregs[REG_RIP];
    *frame = (uint64_t)machine->uc_mcontext.gregs[REG_RBP];
    *stack = (uint64_t)machine->uc_mcontext.gregs[REG_RSP];
#elif defined(__linux__) && defined(__aarch64__)
    *pc = machine->uc_mcontext.pc;
    *frame = machine->uc_mcontext.regs[29];
    *stack = machine->uc_mcontext.sp;
#endif
}

static void write_report(int signal, const siginfo_t *info, const void *context) {
    struct output out;
    out.file = atomic_load(&report_file);
    out.count = 0;
    if (out.file < 0) return;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t pc, frame, stack, frames[frame_limit];
    registers(context, &pc, &frame, &stack);

    put(&out, "martlet 1\nsignal");
    put_field(&out, (uint64_t)signal);
    put_field(&out, info == NULL ? 0 : (uint64_t)(uint32_t)info->si_code);
    put_field(&out, info == NULL ? 0 : (uint64_t)(uintptr_t)info->si_addr);
    put(&out, "\ntime");
    put_field(&out, (uint64_t)now.tv_sec);
    put_field(&out, (uint64_t)now.tv_nsec);
    put(&out, "\nframes");
    put_field(&out, pc);
    size_t count = walk(find_frame(frame, stack), frames, frame_limit);
    for (size_t i = 0; i < count; i++) put_field(&out, frames[i]);
    size_t known = atomic_load(&image_count);
    for (size_t i = 0; i < known; i++) {
        const struct martlet_image *image = &images[i];
        put(&out, "\nimage");
        put_field(&out, image->address);
        put_field(&out, image->size);
        put_field(&out, image->preferred);
        put(&out, " ");
        for (uint32_t byte = 0; byte < image->id_length && byte < sizeof image->id; byte++) {
            put_bytes(&out, &"0123456789abcdef"[image->id[byte] >> 4], 1);
            put_bytes(&out, &"0123456789abcdef"[image->id[byte] & 15], 1);
        }
        put(&out, " ");
        put(&out, image->path);
    }
    int which = atomic_load(&current_context);
    put(&out, "\ncontext");
    put_field(&out, context_lengths[which]);
    put(&out, "\n");
    put_bytes(&out, contexts[which], context_lengths[which]);
    put(&out, "\nend\n");
    flush_output(&out);
    fsync(out.file);
}

static void handle(int signal, siginfo_t *info, void *context) {
    int saved = errno;
    // One report. Another thread that crashes meanwhile waits, because its death would cut the report off.
    uintptr_t none = 0, self = (uintptr_t)pthread_self();
    if (atomic_compare_exchange_strong(&reporting_thread, &none, self)) write_report(signal, info, context);
    else if (none != self) sleep(2);
    for (int i = 0; i < signal_count; i++) sigaction(signals[i], &previous[i], NULL);
    errno = saved;
    // A signal that the processor raised recurs after the return, now with the previous handler. One that was sent does
    // not.
    bool was_sent = info == NULL || info->si_code <= 0;
#ifdef __linux__
    was_sent = was_sent || info->si_code == SI_TKILL || info->si_code == SI_USER;
#endif
    if (was_sent || signal == SIGABRT || signal == SIGTRAP || signal == SIGSYS) raise(signal);
}

// Images.

static void add_image(uint64_t address, uint64_t size, uint64_t preferred, const uint8_t *id, size_t id_length,
                      const char *path) {
    size_t count = atomic_load(&image_count);
    for (size_t i = 0; i < count; i++) {
        if (images[i].address == address) return;
    }
    if (count == image_limit) return;
    struct martlet_image *image = &images[count];
    memset(image, 0, sizeof *image);
    image->address = address;
    image->size = size;
    image->preferred = preferred;
    image->id_length = (uint32_t)(id_length < sizeof image->id ? id_length : sizeof image->id);
    if (id != NULL) memcpy(image->id, id, image->id_length);
    // The end of a long path names the file.
    size_t length = strlen(path);
    if (length >= sizeof image->path) path += length - (sizeof image->path - 1);
    for (size_t i = 0; path[i] != 0 && i < sizeof image->path - 1; i++) {
        image->path[i] = path[i] == '\n' ? '?' : path[i];
    }
    // The handler sees complete images only.
    atomic_store(&image_count, count + 1);
}

static pthread_mutex_t image_lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef __APPLE__
// Most watches have addresses of 32 bits.
#ifdef __LP64__
typedef struct mach_header_64 image_header;
typedef struct segment_command_64 image_segment;
static const uint32_t image_magic = MH_MAGIC_64, segment_kind = LC_SEGMENT_64;
#else
typedef struct mach_header image_header;
typedef struct segment_command image_segment;
static const uint32_t image_magic = MH_MAGIC, segment_kind = LC_SEGMENT;
#endif

static void image_loaded(const struct mach_header *header, intptr_t slide) {
    if (header->magic != image_magic) return;
    const char *path = "";
    for (uint32_t i = 0; i < _dyld_image_count(); i++) {
        if (_dyld_get_image_header(i) == header) path = _dyld_get_image_name(i);
    }
    const uint8_t *id = NULL;
    uint64_t size = 0;
    const struct load_command *command = (const void *)((const char *)header + sizeof(image_header));
    for (uint32_t i = 0; i < header->ncmds; i++) {
        if (command->cmd == LC_UUID) id = ((const struct uuid_command *)command)->uuid;
        if (command->cmd == segment_kind) {
            const image_segment *segment = (const void *)command;
            if (strcmp(segment->segname, SEG_TEXT) == 0) size = segment->vmsize;
        }
        command = (const void *)((const char *)command + command->cmdsize);
    }
    pthread_mutex_lock(&image_lock);
    uint64_t address = (uint64_t)(uintptr_t)header;
    add_image(address, size, address - (uint64_t)slide, id, 16, path == NULL ? "" : path);
    pthread_mutex_unlock(&image_lock);
}

void martlet_signals_note_images(void) {
    static bool is_registered;
    if (is_registered) return;
    is_registered = true;
    _dyld_register_func_for_add_image(image_loaded);
}
#else
static int image_found(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    uint64_t low = UINT64_MAX, high = 0;
    const uint8_t *id = NULL;
    size_t id_length = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD) {
            if (header->p_vaddr < low) low = header->p_vaddr;
            if (header->p_vaddr + header->p_memsz > high) high = header->p_vaddr + header->p_memsz;
        }
        if (header->p_type != PT_NOTE) continue;
        const char *note = (const char *)info->dlpi_addr + header->p_vaddr;
        const char *end = note + header->p_memsz;
        while (note + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *entry = (const void *)note;
            const char *name = note + sizeof *entry;
            const char *content = name + ((entry->n_namesz + 3u) & ~3u);
            if (content + entry->n_descsz > end) break;
            if (entry->n_type == NT_GNU_BUILD_ID && entry->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
                id = (const uint8_t *)content;
                id_length = entry->n_descsz;
            }
            note = content + ((entry->n_descsz + 3u) & ~3u);
        }
    }
    if (low >= high) return 0;
    char program[sizeof images[0].path] = "";
    const char *path = info->dlpi_name;
    if (path == NULL || path[0] == 0) {
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        program[length < 0 ? 0 : length] = 0;
        path = program;
    }
    add_image(info->dlpi_addr + low, high - low, low, id, id_length, path);
    return 0;
}

void martlet_signals_note_images(void) {
    pthread_mutex_lock(&image_lock);
    dl_iterate_phdr(image_found, NULL);
    pthread_mutex_unlock(&image_lock);
}
#endif

size_t martlet_signals_images(struct martlet_image *into, size_t capacity) {
    size_t count = atomic_load(&image_count);
    if (count > capacity) count = capacity;
    memcpy(into, images, count * sizeof images[0]);
    return count;
}

size_t martlet_signals_backtrace(uint64_t *into, size_t capacity) {
    // Here the stack is sound: read it directly.
    size_t count = 0;
    const uint64_t *frame = __builtin_frame_address(0);
    while (count < capacity && frame != NULL && ((uintptr_t)frame & 7) == 0) {
        const uint64_t *next = (const uint64_t *)(uintptr_t)caller_of(frame[0]);
        if (frame[1] < 4096) break;
        into[count++] = frame[1];
        if (next <= frame || next - frame > 1 << 17) break;
        frame = next;
    }
    return count;
}

void martlet_signals_set_context(const char *text, size_t length) {
    // A report may be reading the buffers.
    if (atomic_load(&reporting_thread) != 0) return;
    int next = 1 - atomic_load(&current_context);
    if (length > context_limit) length = context_limit;
    memcpy(contexts[next], text, length);
    context_lengths[next] = length;
    atomic_store(&current_context, next);
}

// A stack of its own, so that a stack overflow of this thread can be reported. Other threads have none. watchOS and tvOS
// do not allow it.
static void use_own_stack(void) {
#if !defined(__APPLE__) || !(TARGET_OS_WATCH || TARGET_OS_TV)
    stack_t stack = {0};
    if (sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
    void *memory = mmap(NULL, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t mine = {.ss_sp = memory, .ss_size = stack_size, .ss_flags = 0};
    sigaltstack(&mine, NULL);
#endif
}

int martlet_signals_start(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    int old = atomic_exchange(&report_file, file);
    if (old >= 0) close(old);
    if (is_watching) return 0;
    if (probe[0] < 0 && pipe(probe) == 0) {
        for (int i = 0; i < 2; i++) {
            fcntl(probe[i], F_SETFD, FD_CLOEXEC);
            fcntl(probe[i], F_SETFL, O_NONBLOCK);
        }
    }
    martlet_signals_note_images();
    use_own_stack();
    struct sigaction action = {0};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < signal_count; i++) sigaction(signals[i], &action, &previous[i]);
    is_watching = true;
    return 0;
}
