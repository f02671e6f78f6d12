/*
 * How library and driver speak with each other: one record for each call, in the program's memory, on its stack. The
 * driver's side is crates/os/src/opencl/abi.rs.
 */
#ifndef COHESIM_ABI_H
#define COHESIM_ABI_H

#include <stdint.h>

/* The system call: rdi holds the record's address, rsi the version of this interface. */
#define COHESIM_TRAP 0x4353494d
#define COHESIM_ABI 1

/* A function beside those of the header: whoever calls it does what the driver has to do, again and again. */
#define COHESIM_SERVER 1000

struct cohesim_record {
    uint32_t function; /* functions.h */
    uint32_t count;    /* of the arguments */
    uint64_t token;    /* zero at first; the driver keeps its state of the call by it */
    uint64_t result;
    uint64_t arguments[16];
    uint64_t action[10];
};

/* What the system call answers. */
enum {
    COHESIM_RETURN = 0,  /* the call is over; result holds what it returns */
    COHESIM_COPY = 2,    /* action: to, from, bytes of a row, rows, slices, row pitches and slice pitches of both,
                          bytes to move at a time */
    COHESIM_FLUSH = 3,   /* action: address, bytes; write the lines back */
    COHESIM_CALL = 4,    /* action: function, four arguments */
    COHESIM_PRINT = 5,   /* action: address, bytes; to standard output */
    COHESIM_REFUSED = 6, /* the driver does not speak this version of the interface, and has said so */
    COHESIM_SERVE = 7,   /* start a thread that calls COHESIM_SERVER, which does not return */
};

#endif
