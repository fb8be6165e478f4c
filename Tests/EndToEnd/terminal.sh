#!/bin/bash
# What a person sees at a terminal: the live table, questions, and what is given back afterwards.
# APSULE names the built executable.
exec python3 "$(dirname "$0")/terminal.py"
