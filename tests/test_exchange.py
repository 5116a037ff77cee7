"""The exchange table, the comparison of accountants, and the command that prints a statement."""

import argparse
from statistics import NormalDist

import numpy as np
import pytest

from dpnotes import conversions as cv
from dpnotes import mechanisms as m
from dpnotes.accountants import GDP, RDP, ZCDP, ApproxDP, NumericalAccountant, PureDP, RenyiAccountant
from dpnotes.accountants._command import add_parser, epsilon_command
from dpnotes.exchange_table import Table, compare, exchange
from dpnotes.mechanisms import Gaussian, Laplace
from dpnotes.privacy_loss import LaplaceLoss

CURRENCIES = ["pure DP, epsilon", "approximate DP, epsilon at 1e-06", "Rényi DP, order 2", "zCDP, rho", "Gaussian DP, mu",
              "membership advantage"]


def values(guarantee):
    table = exchange(guarantee, delta=1e-6, alpha=2)
    assert [row["currency"] for row in table] == CURRENCIES
    for row in table:
        assert (row["value"] is None) == (row["kind"] == "none")
        assert row["why"]
    return [row["value"] for row in table]


def test_pure():
    assert values(PureDP(1.0)) == pytest.approx(
        [1.0, cv.pure_to_epsilon(1.0, 1e-6), 0.7353256640555192, 0.46211715726, 1.232035385344901, np.tanh(0.5)], rel=1e-9)


def test_approximate():
    tv = np.tanh(0.5)
    assert values(ApproxDP(1.0, 1e-7)) == [None, pytest.approx(1.0, abs=1e-5), None, None, None, pytest.approx(tv, abs=1e-6)]
    assert exchange(ApproxDP(1.0, 1e-5), delta=1e-6)[CURRENCIES[1]]["why"] == "delta is below the probability of a leak"


def test_renyi_and_zcdp():
    assert values(RDP({2: 0.5, 10: 1.25}))[:5] == [None, pytest.approx(cv.rdp_to_epsilon(10, 1.25, 1e-6)), 0.5, None, None]
    zcdp = values(ZCDP(0.5))
    assert zcdp[:4] == [None, pytest.approx(cv.zcdp_to_epsilon(0.5, 1e-6)), 1.0, 0.5]
    assert exchange(ZCDP(0.5))["Gaussian DP, mu", "kind"] == "estimate"
    assert zcdp[4] > 1.0


def test_gaussian_and_mechanisms():
    for guarantee in (GDP(0.5), Gaussian(sigma=2.0)):
        epsilon, tv = pytest.approx(2.254084650219741), pytest.approx(cv.gdp_to_delta(0.5, 0))
        assert values(guarantee) == [None, epsilon, 0.25, 0.125, 0.5, tv]
    laplace = values(Laplace(scale=1.0))
    alone = values(LaplaceLoss(1.0))  # a bare loss has no word of its own: its Gaussian is that of its epsilon
    assert (laplace[:4], laplace[5]) == (alone[:4], alone[5])
    assert laplace[4] < alone[4] == pytest.approx(1.232035385344901)
    assert laplace[:3] == pytest.approx([1.0, LaplaceLoss(1.0).epsilon(1e-6), 0.6191236299985929])
    assert exchange(LaplaceLoss(1.0))["Gaussian DP, mu", "kind"] == "upper bound"


def test_arguments():
    for bad in (3.0, None, "RDP"):
        with pytest.raises(ValueError, match="guarantee"):
            exchange(bad)
    with pytest.raises(ValueError, match="delta"):
        exchange(PureDP(1.0), delta=-1)
    with pytest.raises(ValueError, match="delta"):
        compare([], 2.0)
    with pytest.raises(ValueError, match="repeats"):
        compare([], 0.1, repeats=(0.5,))


def test_compare_is_the_table_of_source_004():
    table = compare([(Gaussian(sigma=2.0), 1)], 1e-6, repeats=(1, 5, 10, 20))
    columns = ("x1", "x5", "x10", "x20")
    for name in ("Gaussian DP", "numerical"):
        assert [round(table[name, column], 6) for column in columns] == [2.254085, 5.550860, 8.306225, 12.595247]
    assert [round(table["zCDP, Bun-Steinke", column], 2) for column in columns] == [2.75, 6.50, 9.56, 14.25]
    tight = [round(table["zCDP, Canonne-Kamath-Steinke", column], 6) for column in columns]
    assert tight == [2.419093, 5.926818, 8.845889, 13.373652]
    assert table["pure, plain sum", "x20"] is None
    assert "arbitrarily large loss" in table["pure, plain sum", "why"]
    assert table["(epsilon, delta), plain sum", "x20"] == pytest.approx(51.15, abs=5e-3)
    assert table["central limit theorem", "kind"] == "estimate"


def test_compare_reads_a_ledger():
    ledger = RenyiAccountant().add(Laplace(scale=10.0), times=20)
    table = compare(ledger, 1e-6)
    assert table["advanced, optimal", "epsilon"] == pytest.approx(1.78860911741898)
    assert table["pure, plain sum", "epsilon"] == pytest.approx(2.0, abs=1e-5)
    exact = NumericalAccountant().add(Laplace(scale=10.0), times=20).epsilon_bounds(1e-6)[0]
    for row in table:
        if row["kind"] not in ("none", "estimate"):
            assert row["epsilon"] >= exact
    none = compare([(ApproxDP(1.0, 1e-4), 10)], 1e-6)
    assert none["Rényi, optimal", "epsilon"] is None
    assert none["numerical", "epsilon"] == np.inf
    assert compare([(ZCDP(0.1), 2)], 1e-6)["central limit theorem", "epsilon"] is None


def test_table_forms():
    table = Table("a <b>", ["name", "value"], [("x & y", 0.5), ("z", None), ("tiny", 1.5e-12)], note="n")
    assert repr(table).splitlines() == ["a <b>", "", "name         value", "-----  -----------", "x & y          0.5",
                                        "z                -", "tiny   1.50000e-12", "n"]
    markup = table._repr_html_()
    assert markup == table._repr_html_()
    assert "a &lt;b&gt;" in markup
    assert "x &amp; y" in markup
    assert markup.count("<tr>") == 4
    assert table["x & y", "value"] == 0.5
    assert len(table) == 3
    with pytest.raises(KeyError):
        table["absent"]


def test_command(capsys):
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    add_parser(subparsers)
    run = ["epsilon", "--sigma", "1.1", "--q", "0.004267", "--steps", "14062", "--delta", "1e-5"]
    options = parser.parse_args(run)
    assert options.run is epsilon_command
    assert options.run(options) == 0
    text = capsys.readouterr().out
    assert text.startswith("(2.3819, 1e-05)-DP, add/remove one record, Poisson sampling q=0.004267, upper bound")
    plain = ["epsilon", "--sigma", "2", "--steps", "20", "--delta", "1e-6", "--route", "renyi"]
    assert epsilon_command(parser.parse_args(plain)) == 0
    assert capsys.readouterr().out.startswith("(13.374, 1e-06)-DP, add/remove one record, upper bound")
    assert epsilon_command(parser.parse_args([*plain[:4], "2e1", *plain[5:]])) == 0
    assert capsys.readouterr().out.startswith("(13.374, 1e-06)-DP, add/remove one record, upper bound")
    assert epsilon_command(parser.parse_args([*run, "--route", "renyi"])) == 0
    assert capsys.readouterr().out.startswith("(2.59")
    for bad in ("--sigma 0 --steps 5 --delta 1e-5", "--sigma 1 --q 2 --steps 5 --delta 1e-5",
                "--sigma 1 --steps -5 --delta 1e-5", "--sigma 1 --steps 1.5 --delta 1e-5", "--sigma 1 --steps inf --delta 1e-5",
                "--sigma 1 --steps 5 --delta nan"):
        with pytest.raises(ValueError, match="is not allowed"):
            epsilon_command(parser.parse_args(["epsilon", *bad.split()]))


ADD_REMOVE = [Laplace(2.0), Gaussian(2.0), m.DiscreteLaplace(2.0, 3), m.DiscreteGaussian(3.0), m.GridLaplace(2.0),
              m.ExponentialMechanism(1.0), m.PermuteAndFlip(0.5), m.ReportNoisyMax(0.5, noise="gumbel"), m.SparseVector(1.0, 2),
              m.AboveThreshold(0.5), Laplace(1.0).poisson_sampled(0.1), Gaussian(1.0).poisson_sampled(0.1),
              m.ExponentialMechanism(1.0).poisson_sampled(0.1), m.DiscreteGaussian(3.0).poisson_sampled(0.1)]
REPLACE = [m.RandomizedResponse(1.0), m.RandomizedResponse(1.0, 4), m.UnaryEncoding(1.0, 4), m.ShuffledRandomizedResponse(1.0, 2),
           Laplace(1.0, neighbors="replace one record").sampled_without_replacement(3, 30),
           Gaussian(1.0, neighbors="replace one record").sampled_without_replacement(3, 30)]


@pytest.mark.parametrize(("mechanisms", "empty"), [
    (ADD_REMOVE, {"pure, plain sum", "Gaussian DP"}),  # Gaussian noise has no epsilon, the discrete Gaussian no mu
    (REPLACE, {"pure, plain sum"}),
], ids=["add/remove", "replace"])
def test_compare_one_of_each_mechanism(mechanisms, empty):
    history = [(mechanism, 1) for mechanism in mechanisms]
    table = compare(history, 1e-5)
    ledger = NumericalAccountant()
    for mechanism, times in history:
        ledger.add(mechanism, times)
    lower = ledger.epsilon_bounds(1e-5)[0]
    assert {row["accountant"] for row in table if row["epsilon"] is None} == empty
    for row in table:
        if row["accountant"] in empty:
            assert row["why"].startswith("takes only what is")
        elif row["kind"] != "estimate" and not row["accountant"].startswith(("zCDP", "Rényi", "Gaussian")):
            assert lower <= row["epsilon"] < np.inf
        elif row["kind"] != "estimate":  # these know more than the losses, which only bound the selections and samples
            assert 0 < row["epsilon"] < np.inf


def test_compare_says_why_leaks_and_other_relations_do_not_go():
    table = compare([(m.ThresholdedCount(1.0, 10.0), 1), (Laplace(1.0).poisson_sampled(0.1), 1)], 1e-5)
    why = {row["accountant"]: row["why"] for row in table}
    assert "arbitrarily large loss" in why["pure, plain sum"]
    assert "show everything" in why["Rényi, optimal"]
    assert "leak" in why["zCDP, Bun-Steinke"]
    assert "directions" in why["numerical"]
    mixed = compare([(Laplace(1.0), 1), (m.RandomizedResponse(1.0), 1)], 1e-5)
    assert all(row["epsilon"] is None and "neighbors" in row["why"] for row in mixed if row["kind"] != "estimate")


def test_exchange_reads_what_a_mechanism_says_of_itself():
    table = exchange(m.ExponentialMechanism(1.0))
    assert (table["zCDP, rho", "value"], table["zCDP, rho", "kind"]) == (0.125, "upper bound")
    assert table["Rényi DP, order 2", "value"] == 0.25
    laplace = exchange(Laplace(1.0))
    assert laplace["Gaussian DP, mu", "value"] == pytest.approx(-2 * NormalDist().inv_cdf(np.exp(-0.5) / 2), rel=1e-12)
    assert laplace["Gaussian DP, mu", "kind"] == "exact"


def test_a_long_reason_wraps_and_the_rule_above_it_does_not():
    why = "because " * 30
    text = repr(Table("t", ["accountant", "x1", "x5", "kind", "why"], [["a" * 30, 1.5, 2.5, "upper bound", why.strip()]]))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 120
    assert [set(line) for line in lines].count({"-", " "}) == 1, "one line of dashes"
    assert sum(line.split().count("because") for line in lines) == 30
