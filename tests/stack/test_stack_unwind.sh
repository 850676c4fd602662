#!/bin/sh
# sanitizers
# Runs prog_unwind.c, which prints TAP.
exec "${BUILD:-build}/tests/stack/prog_unwind"
