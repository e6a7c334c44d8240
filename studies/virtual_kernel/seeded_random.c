/* For LD_PRELOAD: getrandom(2) from the seed in VIRTUAL_KERNEL_SEED (SplitMix64, Steele, Lea and Flood
 * 2014), so that a kernel that runs as a program draws the same numbers each time. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static uint64_t next(void) {
    static uint64_t state;
    static int seeded;
    if (!seeded) {
        const char *seed = getenv("VIRTUAL_KERNEL_SEED");
        state = seed ? strtoull(seed, NULL, 10) : 0;
        seeded = 1;
    }
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    (void)flags;
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = next();
        memcpy((char *)buffer + at, &word, size - at < sizeof word ? size - at : sizeof word);
    }
    return (ssize_t)size;
}
