#!/bin/bash
# The network families from the outside: a project, a policy, a confined worker, servers on loopback.
# APSULE names the built executable.
exec python3 "$(dirname "$0")/network.py"
