#!/bin/sh
# Builds the benchmark programs anew. They are committed built, so that nothing has to be installed to measure.
set -eu
cd "$(dirname "$0")"
for program in integer sse2; do
    gcc -O2 -static -nostdlib -ffreestanding -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
        -fno-math-errno -fno-ident -Wl,--build-id=none -Wl,-z,noexecstack -s -o "$program.elf" "$program.c"
done
