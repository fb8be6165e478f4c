#!/bin/bash
# The families that keep data, from the outside: a project, a policy, a confined worker.
# APSULE names the built executable.
exec python3 "$(dirname "$0")/data.py"
