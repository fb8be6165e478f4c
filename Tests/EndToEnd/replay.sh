#!/bin/bash
# Recordings from the outside: what is played is what was recorded, and what is broken, foreign or cut off has its answer.
# APSULE names the built executable.
exec python3 "$(dirname "$0")/replay.py"
