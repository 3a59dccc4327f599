"""Writes a .npy file: make_npy.py PATH DESCR SHAPE [VALUE...]; SHAPE is like 1x2x3. Without values it counts 0, 1, 2, …"""

import struct
import sys

path, descr, shape = sys.argv[1:4]
sizes = [int(size) for size in shape.split("x")]
count = 1
for size in sizes:
    count *= size
values = [float(value) for value in sys.argv[4:]] or [float(index) for index in range(count)]
assert len(values) == count, f"{path}: {count} values are needed"
text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, sizes))},), }}\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    if descr == "<V2":  # bfloat16: the upper half of a float32, which is exact for what tests write
        for value in values:
            file.write(struct.pack("<f", value)[2:])
    else:
        code = {"f8": "d", "f4": "f", "f2": "e", "i8": "q"}[descr[1:]]
        file.write(struct.pack(descr[0] + str(count) + code, *[int(v) if code == "q" else v for v in values]))
