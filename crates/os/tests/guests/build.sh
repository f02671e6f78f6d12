#!/bin/sh
# Builds the guests of the tests: one static program with musl, small and the same every time.
set -e
cd "$(dirname "$0")"
musl-gcc -static -Os -fno-pie -no-pie -w -fno-asynchronous-unwind-tables -Wl,--build-id=none -o guests \
  main.c threads.c unprotect.c signals.c memory.c remap.c files.c pipes.c clocks.c fuzz.c
strip --strip-debug --remove-section=.comment guests
