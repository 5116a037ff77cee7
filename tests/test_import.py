"""`import dpnotes` costs next to nothing: counted in modules that are loaded, not in seconds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import dpnotes as dp


def modules_after(statements: str) -> set[str]:
    """The modules that the statements load in a fresh interpreter."""
    program = f"import sys; before = set(sys.modules)\n{statements}\nloaded = sorted(set(sys.modules) - before)\n" \
              "import json; print(json.dumps(loaded))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_import_alone_loads_nothing_heavy():
    loaded = modules_after("import dpnotes")
    assert {name for name in loaded if name.startswith("dpnotes")} == {"dpnotes"}
    assert not loaded & {"numpy", "scipy", "matplotlib", "ipywidgets", "IPython"}
    assert len(loaded) < 25


def test_a_loss_loads_no_figures():
    loaded = modules_after("import dpnotes as dp; dp.Gaussian(1.0).privacy_loss().epsilon(1e-5); dp.RandomizedResponse(1.0)")
    assert not loaded & {"matplotlib", "ipywidgets", "IPython", "dpnotes.figures", "dpnotes.data", "dpnotes.exercises"}
    assert "scipy.special" in loaded and not loaded & {"scipy.stats", "scipy.optimize", "scipy.integrate", "scipy.signal"}


def test_listing_the_names_loads_nothing():
    loaded = modules_after("import dpnotes; assert 'Gaussian' in dir(dpnotes) and 'check' in dir(dpnotes)")
    assert "numpy" not in loaded


def test_every_public_name_is_there():
    assert dp.__all__ == sorted(set(dp.__all__))
    assert {"DiscreteLoss", "Gaussian", "GaussianLoss", "Laplace", "LaplaceLoss", "PrivacyLoss", "RandomizedResponse",
            "ThresholdedCount",
            "check", "explore", "load_adult"} <= set(dp.__all__) <= set(dir(dp))
    for name in dp.__all__:
        value = getattr(dp, name)
        assert callable(value) and value.__name__ == name and getattr(dp, name) is value
        assert value.__doc__ and value.__module__.startswith("dpnotes.")


def test_names_survive_the_import_of_their_homes():
    """A module must not hide the function of the same name, whichever is loaded first."""
    program = "import dpnotes as dp, importlib\nfor home in set(dp._HOMES): importlib.import_module(home)\n" \
              "assert all(callable(getattr(dp, name)) for name in dp.__all__)"
    modules_after(program)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'Gausian'"):
        _ = dp.Gausian
    assert not hasattr(dp, "_nothing")


def test_version():
    assert dp.__version__.count(".") == 2
