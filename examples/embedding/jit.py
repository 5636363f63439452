"""Compiles a kernel from Python: python3 jit.py path/to/libgcnc.so.0"""
import ctypes as c
import sys

lib = c.CDLL(sys.argv[1])


class Input(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_size_t)]


for name, result, arguments in [
    ("gcnc_version", c.c_char_p, []),
    ("gcnc_options_new", c.c_void_p, [c.c_char_p]),
    ("gcnc_options_free", None, [c.c_void_p]),
    ("gcnc_compiler_new", c.c_int, [c.c_void_p, c.POINTER(c.c_void_p), c.POINTER(c.c_void_p)]),
    ("gcnc_compiler_free", None, [c.c_void_p]),
    ("gcnc_compile", c.c_int, [c.c_void_p, c.POINTER(Input), c.c_size_t, c.c_uint32, c.c_void_p]
        + [c.POINTER(c.c_void_p)] * 2),
    ("gcnc_object_data", c.c_void_p, [c.c_void_p]),
    ("gcnc_object_size", c.c_size_t, [c.c_void_p]),
    ("gcnc_object_free", None, [c.c_void_p]),
    ("gcnc_error_text", c.c_char_p, [c.c_void_p]),
    ("gcnc_error_free", None, [c.c_void_p]),
]:
    function = getattr(lib, name)
    function.restype, function.argtypes = result, arguments


def call(function, *arguments):
    made, error = c.c_void_p(), c.c_void_p()
    if function(*arguments, c.byref(made), c.byref(error)) != 0:
        text = lib.gcnc_error_text(error).decode()
        lib.gcnc_error_free(error)
        raise RuntimeError(text)
    return made


def compile_kernel(text, processor="gfx900"):
    options = lib.gcnc_options_new(processor.encode())
    compiler = call(lib.gcnc_compiler_new, options)
    lib.gcnc_options_free(options)
    try:
        made = call(lib.gcnc_compile, compiler, Input(text.encode(), len(text.encode())), 1, 0, None)
        bytes_ = c.string_at(lib.gcnc_object_data(made), lib.gcnc_object_size(made))
        lib.gcnc_object_free(made)
        return bytes_
    finally:
        lib.gcnc_compiler_free(compiler)


print("gcnc", lib.gcnc_version().decode())
print("ELF", compile_kernel("define amdgpu_kernel void @k() { ret void }")[:4] == b"\x7fELF")
try:
    compile_kernel("no module at all")
except RuntimeError as error:
    print("refused:", error)
