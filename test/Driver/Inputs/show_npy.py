"""Prints what .npy files hold: name, dtype, shape and values, in the order given."""

import ast
import os
import struct
import sys

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        bytes_ = file.read()
    length = struct.unpack("<H", bytes_[8:10])[0]
    header = ast.literal_eval(bytes_[10 : 10 + length].decode())
    data, descr = bytes_[10 + length :], header["descr"]
    if descr == "<V2":
        values = [struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data), 2)]
    else:
        code = {"f8": "d", "f4": "f", "f2": "e"}[descr[1:]]
        values = struct.unpack(f"<{len(data) // int(descr[2:])}{code}", data)
    print(os.path.basename(path), descr, header["shape"], " ".join(f"{value:.6g}" for value in values))
