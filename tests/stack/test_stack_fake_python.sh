#!/bin/sh
# sanitizers
# Runs prog_fake_python.c, which prints TAP.
exec "${BUILD:-build}/tests/stack/prog_fake_python"
