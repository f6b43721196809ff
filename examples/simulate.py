#!/usr/bin/env python3
"""Latencies of a served model against the rate of requests, as CSV: simulate.py [RATE [RATE ...]]

ctypes over libroofcast.so.0: options are declared as far as they are set, results as far as they are read (roofcast/error.h)."""
import ctypes as c
import os
import sys


class Error(c.Structure):
    _fields_ = [("kind", c.c_int), ("message", c.c_char * 1024)]


class WorkloadOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("rate", c.c_double)]


class SimulateOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("rate", c.c_double), ("max_concurrency", c.c_uint32), ("slo", c.c_char_p), ("n_draws", c.c_uint32)]


class Metric(c.Structure):
    _fields_ = [(n, c.c_char_p) for n in "key unit help".split()] + [("value", c.c_double)]


class Info(c.Structure):
    _fields_ = [(n, c.c_char_p) for n in "policy stack limit".split()] + [("verdict", c.c_int)]


lib = c.CDLL("libroofcast.so.0")
for name in "model_load machine_load workload_load simulate".split():
    getattr(lib, "roofcast_" + name).restype = c.c_void_p
lib.roofcast_simulation_find.restype = c.POINTER(Metric)
lib.roofcast_simulation_info.restype = c.POINTER(Info)
lib.roofcast_verdict_name.restype = c.c_char_p
err = Error()


def check(result):
    if not result:
        sys.exit("simulate.py: " + err.message.decode())
    return c.c_void_p(result)


def main(*rates):
    if "ROOFCAST_DATA" in os.environ:
        lib.roofcast_set_data_dirs((c.c_char_p * 1)(os.environ["ROOFCAST_DATA"].encode()), c.c_size_t(1), None)
    m = check(lib.roofcast_model_load(b"llama-3.1-8b", b"BF16", c.byref(err)))
    h = check(lib.roofcast_machine_load(b"h100-sxm", c.byref(err)))
    wo, so = WorkloadOptions(), SimulateOptions()
    lib.roofcast_simulate_options_init(c.byref(so), c.c_size_t(c.sizeof(so)))
    so.n_draws = 0
    keys = ("ttft_p99", "itl_p99", "output_throughput")
    print(",".join(("rate",) + keys + ("verdict",)))
    for rate in rates or (1, 4, 16, 64):
        lib.roofcast_workload_options_init(c.byref(wo), c.c_size_t(c.sizeof(wo)))
        wo.rate = float(rate)
        w = check(lib.roofcast_workload_load(b"random:in=1024,out=128", c.byref(wo), c.byref(err)))
        s = check(lib.roofcast_simulate(m, h, w, None, c.byref(so), c.byref(err)))
        values = [f"{lib.roofcast_simulation_find(s, k.encode()).contents.value:.6g}" for k in keys]
        print(",".join([str(rate)] + values + [lib.roofcast_verdict_name(lib.roofcast_simulation_info(s).contents.verdict).decode()]))
        lib.roofcast_simulation_free(s)
        lib.roofcast_workload_free(w)
    lib.roofcast_machine_free(h)
    lib.roofcast_model_free(m)


main(*sys.argv[1:])
