"""Writes the corpus of array files: sound ones by numpy, safetensors and torch, hostile ones by hand.

Run from anywhere: python crates/tensor/tests/reference/corpus.py
Writes tests/corpus/{npy,npz,safetensors}/* and reference/corpus.json (what is in the sound ones, library versions).
"""

import io
import json
import pathlib
import struct
import zipfile
import zlib

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
expected = {}


def describe(array):
    """Shape, dtype and row-major values; floats as exact hexadecimal strings, everything else as integers."""
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        values = [float(v).hex() for v in flat]
    else:
        values = [str(int(v)) for v in flat]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": values}


def sound_npy():
    folder = CORPUS / "npy"
    rng = np.random.default_rng(7)
    arrays = {}
    for name in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]:
        array = (rng.standard_normal((3, 4)) * 50).astype("f8")
        array = (array > 0) if name == "b1" else np.abs(array).astype(name) if name[0] == "u" else array.astype(name)
        arrays[f"little_{name}"] = array
        if array.dtype.itemsize > 1:
            arrays[f"big_{name}"] = array.astype(array.dtype.newbyteorder(">"))
    arrays["fortran_f4"] = np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4))
    arrays["fortran_big_i2"] = np.asfortranarray(np.arange(6, dtype=">i2").reshape(3, 2))
    arrays["scalar"] = np.array(2.5)
    arrays["empty"] = np.zeros((0, 5), dtype="f4")
    arrays["one_axis"] = np.arange(5, dtype="i8")
    arrays["special_f2"] = np.array([np.inf, -np.inf, 0.0, -0.0, 6e-8, 65504.0], dtype="f2")
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        expected[f"npy/{name}.npy"] = describe(array)
    for version in [(2, 0), (3, 0)]:
        name = f"version_{version[0]}"
        with open(folder / f"{name}.npy", "wb") as file:
            np.lib.format.write_array(file, np.arange(4, dtype="f8"), version=version)
        expected[f"npy/{name}.npy"] = describe(np.arange(4, dtype="f8"))


def sound_npz():
    folder = CORPUS / "npz"
    arrays = {"x": np.linspace(0, 1, 6).reshape(2, 3), "labels": np.array([1, 0, 2], dtype="i4"), "flag": np.array(True)}
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    for file in ["stored", "deflated"]:
        expected[f"npz/{file}.npz"] = {name: describe(array) for name, array in arrays.items()}
    nested = {"layer/weight": np.ones((2, 2), dtype="f4")}
    np.savez(folder / "nested.npz", **nested)
    expected["npz/nested.npz"] = {name: describe(array) for name, array in nested.items()}


def sound_safetensors():
    folder = CORPUS / "safetensors"
    rng = np.random.default_rng(8)
    arrays = {}
    for name in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]:
        array = rng.standard_normal((2, 3)) * 50
        arrays[name] = (array > 0) if name == "b1" else np.abs(array).astype(name) if name[0] == "u" else array.astype(name)
    safetensors.numpy.save_file(arrays, folder / "numpy.safetensors", metadata={"writer": "numpy", "note": "äöü \"q\""})
    expected["safetensors/numpy.safetensors"] = {name: describe(array) for name, array in arrays.items()}
    tensors = {
        "fc.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4,
        "fc.bias": torch.tensor([1.5, -2.25], dtype=torch.bfloat16),
        "steps": torch.tensor(12),
        "none": torch.zeros((0, 3)),
    }
    safetensors.torch.save_file(tensors, folder / "torch.safetensors", metadata={"format": "pt"})
    expected["safetensors/torch.safetensors"] = {
        name: {**describe(t.float().numpy() if t.is_floating_point() else t.numpy()), "dtype": str(t.dtype)[6:]}
        for name, t in tensors.items()
    }
    safetensors.torch.save_file({"q": torch.zeros(4, dtype=torch.float8_e4m3fn), "w": torch.ones(2)}, folder / "float8.safetensors")
    safetensors.numpy.save_file({}, folder / "nothing.safetensors")
    expected["safetensors/nothing.safetensors"] = {}


def npy_bytes(header, data=b"", version=(1, 0), length=None):
    """An npy file with any header, right or wrong."""
    text = header if isinstance(header, bytes) else header.encode("latin-1")
    if length is None:
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        length = len(text)
    width = "<H" if version[0] == 1 else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(width, length) + text + data


def header(descr="'<f8'", fortran="False", shape="(2,)"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)


def hostile_npy():
    two = struct.pack("<2d", 1.0, 2.0)
    files = {
        "empty_file": b"",
        "wrong_magic": b"NUMPY\x93" + b"\x01\x00" + bytes(100),
        "zip_named_npy": b"PK\x03\x04" + bytes(60),
        "version_9": npy_bytes(header(), two, version=(9, 0)),
        "header_cut": npy_bytes(header(), two)[:40],
        "header_length_huge": npy_bytes(header(), two, version=(2, 0), length=2**32 - 1),
        "header_not_utf8": npy_bytes(b"{'descr': '<f8', 'fortran_order': False, 'sh\xff\xfe': (2,), }", two, version=(3, 0)),
        "truncated_data": npy_bytes(header(), two[:-1]),
        "trailing_data": npy_bytes(header(), two + b"\0"),
        "shape_2_60": npy_bytes(header(shape=f"({2**60},)"), two),
        "shape_lies_1_tib": npy_bytes(header(shape=f"({2**37},)"), two),
        "shape_overflows": npy_bytes(header(shape=f"({2**32}, {2**32}, {2**32})"), two),
        "shape_overflows_behind_zero": npy_bytes(header(shape=f"(0, {2**62}, {2**62})")),
        "shape_beyond_u64": npy_bytes(header(shape="(99999999999999999999999,)"), two),
        "shape_negative": npy_bytes(header(shape="(-2,)"), two),
        "shape_not_numbers": npy_bytes(header(shape="(2, 'x')"), two),
        "shape_65_axes": npy_bytes(header(shape="(" + "1, " * 65 + ")"), two[:8]),
        "object_dtype": npy_bytes(header(descr="'|O'"), b"cos\nsystem\n(S'true'\ntR."),
        "record_dtype": npy_bytes(header(descr="[('a', '<f8')]"), two),
        "text_dtype": npy_bytes(header(descr="'<U4'"), bytes(32)),
        "complex_dtype": npy_bytes(header(descr="'<c16'"), bytes(32)),
        "no_byte_order": npy_bytes(header(descr="'|f8'"), two),
        "key_missing": npy_bytes("{'descr': '<f8', 'shape': (2,), }", two),
        "key_twice": npy_bytes("{'descr': '<f8', 'shape': (2,), 'fortran_order': False, 'shape': (1,), }", two),
        "key_unknown": npy_bytes("{'descr': '<f8', 'shape': (2,), 'fortran_order': False, 'code': 'x', }", two),
        "code_in_header": npy_bytes("{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,), }", two),
        "text_after_dict": npy_bytes(header() + "; x", two),
        "string_open": npy_bytes("{'descr': '<f8", two),
        "nested_deep": npy_bytes("{" * 5000, two),
        "u64_too_large": npy_bytes(header(descr="'<u8'", shape="(2,)"), struct.pack("<2Q", 1, 2**63)),
    }
    for name, content in files.items():
        (CORPUS / "npy" / f"hostile_{name}.npy").write_bytes(content)


def archive(entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in entries:
            info = zipfile.ZipInfo(name)  # a fixed date, so that the corpus does not change from run to run
            info.compress_type = compression
            file.writestr(info, content)
    return buffer.getvalue()


def hostile_npz():
    two = npy_bytes(header(), struct.pack("<2d", 1.0, 2.0))
    sound = archive([("a.npy", two)])
    zeros = npy_bytes(header(shape="(2000000,)"), bytes(16_000_000))
    bad_sum = bytearray(sound)
    bad_sum[sound.index(b"\x93NUMPY") + 130] ^= 1
    lying = bytearray(sound)
    directory = sound.rindex(b"PK\x01\x02")
    lying[directory + 20:directory + 28] = struct.pack("<II", 0xFFFFFF00, 0xFFFFFF00)
    two_names = bytearray(archive([("a.npy", two), ("b.npy", two)]))
    second = two_names.rindex(b"PK\x01\x02")
    two_names[second + 42:second + 46] = struct.pack("<I", 0)  # both entries now point at the first one's bytes
    count = bytearray(sound)
    end = sound.rindex(b"PK\x05\x06")
    count[end + 8:end + 12] = struct.pack("<HH", 0xFFFE, 0xFFFE)
    files = {
        "not_a_zip": b"PK\x03\x04" + bytes(200),
        "empty_file": b"",
        "cut": sound[: len(sound) // 2],
        "path_up": archive([("../../etc/passwd.npy", two)]),
        "path_absolute": archive([("/tmp/x.npy", two)]),
        "path_windows": archive([("C:\\x.npy", two)]),
        "bomb_small_shape": archive([("a.npy", npy_bytes(header(), bytes(16_000_000)))], zipfile.ZIP_DEFLATED),
        "bomb_honest": archive([("a.npy", zeros)], zipfile.ZIP_DEFLATED),
        "shape_lies": archive([("a.npy", npy_bytes(header(shape=f"({2**37},)"), bytes(16)))], zipfile.ZIP_DEFLATED),
        "wrong_checksum": bytes(bad_sum),
        "lying_sizes": bytes(lying),
        "overlapping_entries": bytes(two_names),
        "lying_count": bytes(count),
        "bzip2": archive([("a.npy", two)], zipfile.ZIP_BZIP2),
        "object_entry": archive([("a.npy", npy_bytes(header(descr="'|O'"), b"cos\nsystem\n(S'true'\ntR."))]),
        "garbage_entry": archive([("a.npy", b"garbage")]),
    }
    for name, content in files.items():
        (CORPUS / "npz" / f"hostile_{name}.npz").write_bytes(content)


def tensors_bytes(text, data=b"", length=None):
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def hostile_safetensors():
    def line(name="a", dtype="F32", shape="[2]", offsets="[0,8]"):
        return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}'

    eight = bytes(8)
    files = {
        "empty_file": b"",
        "seven_bytes": bytes(7),
        "header_2_63": tensors_bytes("{" + line() + "}", eight, length=2**63),
        "header_longer_than_file": tensors_bytes("{" + line() + "}", eight, length=5000),
        "header_length_zero": tensors_bytes("", eight),
        "not_json": tensors_bytes("{" + line(), eight),
        "not_object": tensors_bytes("[1, 2]", eight),
        "text_after_json": tensors_bytes("{" + line() + "} x", eight),
        "not_utf8": tensors_bytes(b'{"\xff":1}', eight),
        "nested_deep": tensors_bytes('{"a":' + "[" * 20000, eight),
        "overlapping": tensors_bytes("{" + line("a") + "," + line("b", offsets="[4,12]") + "}", bytes(12)),
        "same_bytes": tensors_bytes("{" + line("a") + "," + line("b") + "}", eight),
        "hole": tensors_bytes("{" + line("a") + "," + line("b", offsets="[12,20]") + "}", bytes(20)),
        "hidden_tail": tensors_bytes("{" + line() + "}", bytes(12)),
        "beyond_file": tensors_bytes("{" + line() + "}", bytes(7)),
        "backwards": tensors_bytes("{" + line(offsets="[8,0]") + "}", eight),
        "offset_2_64": tensors_bytes("{" + line(offsets="[0,18446744073709551616]") + "}", eight),
        "size_mismatch": tensors_bytes("{" + line(shape="[3]") + "}", eight),
        "dtype_mismatch": tensors_bytes("{" + line(dtype="F64") + "}", eight),
        "shape_negative": tensors_bytes("{" + line(shape="[-2]") + "}", eight),
        "shape_fraction": tensors_bytes("{" + line(shape="[2.5]") + "}", eight),
        "shape_overflows": tensors_bytes("{" + line(shape="[4294967296,4294967296,4294967296]") + "}", eight),
        "shape_overflows_behind_zero": tensors_bytes("{" + line(shape="[0,4294967296,4294967296]", offsets="[0,0]") + "}"),
        "name_twice": tensors_bytes("{" + line("a") + "," + line("a", shape="[2,1]") + "}", eight),
        "field_missing": tensors_bytes('{"a":{"dtype":"F32","shape":[2]}}', eight),
        "metadata_number": tensors_bytes('{"__metadata__":{"n":1},' + line() + "}", eight),
        "dtype_unknown": tensors_bytes("{" + line(dtype="Q7") + "}", eight),
        "pickle": b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01K\x01s.",
    }
    for name, content in files.items():
        (CORPUS / "safetensors" / f"hostile_{name}.safetensors").write_bytes(content)


for kind in ["npy", "npz", "safetensors"]:
    (CORPUS / kind).mkdir(parents=True, exist_ok=True)
sound_npy()
sound_npz()
sound_safetensors()
hostile_npy()
hostile_npz()
hostile_safetensors()
versions = {"numpy": np.__version__, "safetensors": safetensors.__version__, "torch": torch.__version__, "zlib": zlib.ZLIB_VERSION}
(HERE / "corpus.json").write_text(json.dumps({"versions": versions, "files": expected}, indent=1, sort_keys=True) + "\n")
