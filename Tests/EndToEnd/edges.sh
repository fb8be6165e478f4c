#!/bin/bash
# The surroundings that go wrong: outputs that are closed, full or read slowly, homes and folders that are missing, too
# much of everything, and plugins that come and go while a project runs.
# APSULE names the built executable.
exec python3 "$(dirname "$0")/edges.py"
