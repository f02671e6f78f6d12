// Memory managed by page faults, as a shared-memory runtime inside a program does it: pages without rights, a SIGSEGV
// handler that sees from siginfo and ucontext which page was touched and how, notes it, and gives the right back.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGES = 8, PAGE = 4096 };

static char *memory;
static volatile sig_atomic_t reads[PAGES], writes[PAGES], others;
static sigjmp_buf escape;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    char *address = info->si_addr;
    if (address < memory || address >= memory + PAGES * PAGE) {
        others++;
        siglongjmp(escape, 1);
    }
    size_t page = (size_t)(address - memory) / PAGE;
    // Bit 1 of the error code says that it was a write.
    const ucontext_t *registers = context;
    int write = registers->uc_mcontext.gregs[REG_ERR] & 2;
    if (write)
        writes[page]++;
    else
        reads[page]++;
    if (mprotect(memory + page * PAGE, PAGE, write ? PROT_READ | PROT_WRITE : PROT_READ) != 0)
        _exit(3);
}

int main(void)
{
    char *stack = malloc(65536);
    stack_t alternate = {.ss_sp = stack, .ss_size = 65536};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSEGV, &action, NULL) != 0)
        return 2;
    memory = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 2;

    // Page 0: read, then written. Page 1: written at once. Pages 2 and 3: one copy across both. Page 4: not touched.
    int sum = memory[10];
    memory[11] = 5;
    sum += memory[11];
    memory[PAGE + 100] = 7;
    sum += memory[PAGE + 100];
    memset(memory + 2 * PAGE, 1, 2 * PAGE);
    for (size_t i = 0; i < 2 * PAGE; i++)
        sum += memory[2 * PAGE + i];
    // An access that spans two pages faults for each.
    uint64_t wide = 0x1122334455667788;
    memcpy(memory + 6 * PAGE - 4, &wide, 8);
    // Taken away again, the right is missed again.
    mprotect(memory, PAGE, PROT_NONE);
    sum += memory[11];

    for (int page = 0; page < PAGES; page++)
        printf("page %d: %d reads, %d writes\n", page, (int)reads[page], (int)writes[page]);

    // A fault that nobody can repair: leave by a jump, twice (the signal must not stay blocked).
    volatile int *volatile nowhere = (volatile int *)8;
    for (int i = 0; i < 2; i++)
        if (sigsetjmp(escape, 1) == 0)
            *nowhere = 1;
    printf("sum %d, wild accesses %d\n", sum, (int)others);
    return sum != 5 + 7 + 2 * PAGE + 5 || others != 2;
}
