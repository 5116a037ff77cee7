"""Pack the two original files of UCI Adult into dpnotes/data/adult.npz.

    python tools/pack_adult.py FOLDER

FOLDER holds adult.data and adult.test as the UCI repository serves them (DOI 10.24432/C5XW20). Categories become small
whole numbers with their list of names; rows keep their order, first adult.data, then adult.test.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

SHA256 = {"adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
          "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"}
COLUMNS = ("age workclass fnlwgt education education_num marital_status occupation relationship race sex "
           "capital_gain capital_loss hours_per_week native_country income").split()
NUMBERS = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"}


def rows(folder: Path) -> list[list[str]]:
    found = []
    for name, digest in SHA256.items():
        raw = (folder / name).read_bytes()
        if hashlib.sha256(raw).hexdigest() != digest:
            raise SystemExit(f"{name} is not the original file: its SHA-256 differs.")
        lines = [line for line in raw.decode("ascii").splitlines() if line.count(",") == len(COLUMNS) - 1]
        found += [[field.strip().rstrip(".") for field in line.split(",")] for line in lines]
    return found


def main() -> None:
    table = dict(zip(COLUMNS, zip(*rows(Path(sys.argv[1])), strict=True), strict=True))
    packed: dict[str, np.ndarray] = {}
    for name, values in table.items():
        if name in NUMBERS:
            numbers = np.array(values, dtype=np.int64)
            packed[name] = numbers.astype(np.min_scalar_type(numbers.max()))
        else:
            names, codes = np.unique(values, return_inverse=True)
            packed[name], packed[f"{name}_names"] = codes.astype(np.uint8), names
    np.savez_compressed("dpnotes/data/adult.npz", **packed)


if __name__ == "__main__":
    main()
