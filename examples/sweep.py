#!/usr/bin/env python3
"""Decode tokens/s against batch size, as CSV for a plot: sweep.py [MODEL [MACHINE [TYPE]]]

ctypes over libroofcast.so.0: structs are declared as far as they are read, which the library allows (roofcast/error.h)."""
import ctypes as c
import os
import sys


class Error(c.Structure):
    _fields_ = [("kind", c.c_int), ("message", c.c_char * 1024)]


class Options(c.Structure):
    _fields_ = ([("size", c.c_size_t)] + [(n, c.c_uint32) for n in "n_prompt n_gen n_depth n_batch n_ubatch n_threads tp pp dp ep".split()] +
                [("software", c.c_void_p)])


class Phase(c.Structure):
    _fields_ = [(n, c.c_double) for n in "seconds seconds_low seconds_high tok_s tok_s_low tok_s_high".split()]


class Prediction(c.Structure):
    _fields_ = [("stack", c.c_char_p), ("basis", c.c_char_p), ("prefill", c.POINTER(Phase)), ("decode", c.POINTER(Phase))]


lib = c.CDLL("libroofcast.so.0")
lib.roofcast_model_load.restype = lib.roofcast_machine_load.restype = lib.roofcast_software_load.restype = c.c_void_p
lib.roofcast_predict.restype = c.POINTER(Prediction)
err = Error()


def check(result):
    if not result:
        sys.exit("sweep.py: " + err.message.decode())
    return result


def main(model="llama-3.1-8b", machine="h100-sxm", quant="F16"):
    if "ROOFCAST_DATA" in os.environ:
        lib.roofcast_set_data_dirs((c.c_char_p * 1)(os.environ["ROOFCAST_DATA"].encode()), c.c_size_t(1), None)
    m = c.c_void_p(check(lib.roofcast_model_load(model.encode(), quant.encode(), c.byref(err))))
    h = c.c_void_p(check(lib.roofcast_machine_load(machine.encode(), c.byref(err))))
    software = c.c_void_p(check(lib.roofcast_software_load(None, 0, c.byref(err))))
    o = Options()
    print("n_batch,tok_s,tok_s_low,tok_s_high")
    for batch in (1, 4, 16, 64):
        lib.roofcast_predict_options_init(c.byref(o), c.c_size_t(c.sizeof(o)))
        o.n_prompt, o.n_batch, o.software = 0, batch, software
        p = check(lib.roofcast_predict(m, h, c.byref(o), c.byref(err)))
        d = p.contents.decode.contents
        print(f"{batch},{d.tok_s:.1f},{d.tok_s_low:.1f},{d.tok_s_high:.1f}")
        lib.roofcast_prediction_free(p)
    lib.roofcast_software_free(software)
    lib.roofcast_machine_free(h)
    lib.roofcast_model_free(m)


main(*sys.argv[1:])
