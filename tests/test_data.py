"""UCI Adult as it ships: against the counts in the original `adult.names` and the marginals everyone reports."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from dpnotes.data import load_adult

COLUMNS = ["age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
           "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"]
NUMBERS = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"}


def test_rows_and_columns():
    for part, rows in (("all", 48_842), ("train", 32_561), ("test", 16_281)):  # adult.names
        table = load_adult(part)
        assert sorted(table) == sorted(COLUMNS)
        assert {len(column) for column in table.values()} == {rows}
    for name, column in load_adult().items():
        assert column.dtype.kind == ("i" if name in NUMBERS else "U")
    for name in COLUMNS:
        whole = np.concatenate([load_adult("train")[name], load_adult("test")[name]])
        np.testing.assert_array_equal(whole, load_adult()[name])


def test_well_known_marginals():
    everyone, train, test = (load_adult(part) for part in ("all", "train", "test"))
    assert [int(np.sum(t["income"] == ">50K")) for t in (everyone, train, test)] == [11_687, 7_841, 3_846]
    assert set(everyone["income"]) == {">50K", "<=50K"}  # the dots of adult.test are gone
    assert [int(np.sum(t["sex"] == "Female")) for t in (everyone, train, test)] == [16_192, 10_771, 5_421]
    assert f"{np.mean(everyone['income'] == '>50K'):.2%}" == "23.93%"  # adult.names
    known = {part: np.all([column != "?" for name, column in load_adult(part).items() if name not in NUMBERS], axis=0)
             for part in ("all", "train", "test")}
    assert {part: int(rows.sum()) for part, rows in known.items()} == {"all": 45_222, "train": 30_162,
        "test": 15_060}  # adult.names
    assert f"{np.mean(everyone['income'][known['all']] == '>50K'):.2%}" == "24.78%"  # adult.names
    unknown = {name: int(np.sum(everyone[name] == "?")) for name in ("workclass", "occupation", "native_country")}
    assert unknown == {"workclass": 2_799, "occupation": 2_809, "native_country": 857}


def test_rows_and_sums_of_the_original_files():
    """Counted in the two original files with a few lines of plain Python."""
    train, test = load_adult("train"), load_adult("test")
    first = "39 State-gov 77516 Bachelors 13 Never-married Adm-clerical Not-in-family White Male 2174 0 40 United-States <=50K"
    last = "35 Self-emp-inc 182148 Bachelors 13 Married-civ-spouse Exec-managerial Husband White Male 0 0 60 United-States >50K"
    assert " ".join(str(train[name][0]) for name in COLUMNS) == first
    assert " ".join(str(test[name][-1]) for name in COLUMNS) == last
    sums = {"age": (1_256_257, 631_173), "fnlwgt": (6_179_373_392, 3_084_202_270), "education_num": (328_237, 163_997),
            "capital_gain": (35_089_324, 17_614_497), "capital_loss": (2_842_700, 1_431_088),
            "hours_per_week": (1_316_684, 657_626)}
    assert {name: (int(train[name].sum()), int(test[name].sum())) for name in NUMBERS} == sums
    everyone = load_adult()
    assert (everyone["age"].min(), everyone["age"].max(), everyone["capital_gain"].max()) == (17, 90, 99_999)
    for name, value, rows in (("education", "HS-grad", 15_784), ("education", "Masters", 2_657), ("race", "Other", 406),
                              ("race", "Black", 4_685)):
        assert np.sum(everyone[name] == value) == rows
    assert len(np.unique(everyone["native_country"])) == 42


def test_read_only():
    for part in ("all", "train", "test"):
        table = load_adult(part)
        for column in table.values():
            with pytest.raises(ValueError, match="read-only"):
                column[0] = column[1]
        table.pop("age")
        assert "age" in load_adult(part)  # a caller's dict is its own


def test_small_and_attributed():
    folder = files("dpnotes.data")
    assert len((folder / "adult.npz").read_bytes()) < 1_000_000
    note = (folder / "ADULT.md").read_text(encoding="utf-8")
    assert "10.24432/C5XW20" in note and "CC BY 4.0" in note and "Becker" in note and "Kohavi" in note


@pytest.mark.parametrize("bad", ["training", "", None, 1, ["train"], np.array(["train", "test"]), True])
def test_bad_part(bad):
    with pytest.raises(ValueError, match=r"^part = [\s\S]*'train'"):
        load_adult(bad)
