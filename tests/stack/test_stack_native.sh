#!/bin/sh
# sanitizers
# Runs prog_native.c, which prints TAP.
exec "${BUILD:-build}/tests/stack/prog_native"
