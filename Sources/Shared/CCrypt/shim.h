// libxcrypt, for bcrypt hashes that came from elsewhere.
#include <crypt.h>
#include <stdlib.h>
#include <string.h>

// Writes the hash of `phrase`, by the method and salt at the beginning of `setting`, to `hash`, ending in a zero byte.
// False if there is no hash, or if it does not fit. Swift would see the 32 KiB of `struct crypt_data` as tuples.
static inline _Bool martlet_crypt(const char *phrase, const char *setting, char *hash, size_t capacity) {
    struct crypt_data *data = calloc(1, sizeof(struct crypt_data));
    if (!data) return 0;
    const char *made = crypt_rn(phrase, setting, data, sizeof(struct crypt_data));
    _Bool is_made = made && strlen(made) < capacity;
    if (is_made) strcpy(hash, made);
    explicit_bzero(data, sizeof(struct crypt_data));
    free(data);
    return is_made;
}
