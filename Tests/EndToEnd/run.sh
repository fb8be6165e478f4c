#!/bin/bash
# Projects from the outside: a person at a terminal, scripts that misbehave, confinement, plugin folders.
# APSULE names the built executable.
exec python3 "$(dirname "$0")/run.py"
