#!/bin/sh
# Builds the guest of the tests: a static program with musl and libOpenCL.a, small and the same every time.
set -e
cd "$(dirname "$0")"
musl-gcc -static -Os -fno-pie -no-pie -w -fno-asynchronous-unwind-tables -Wl,--build-id=none -idirafter /usr/include \
  -o copies copies.c ../../../../sdk/libOpenCL.a
strip --strip-debug --remove-section=.comment copies
