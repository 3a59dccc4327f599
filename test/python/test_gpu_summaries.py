"""Summaries of parts of a sequence on a GPU. `tools/test-gpu` runs these where there is one; elsewhere they are skipped."""

import importlib.util
import pathlib
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")

#: Of each kind of map: from a side, with scales, elementwise, of an extremum; several levels of states; delays.
NAMES = ["gated_delta_net", "gla", "hgrn", "mamba2_layer", "mlstm", "pgdn", "rwkv4_logaddexp"]


@pytest.fixture(scope="module")
def parts():
    folder = pathlib.Path(__file__).resolve().parents[2] / "bench" / "python"
    spec = importlib.util.spec_from_file_location("parts", folder / "parts.py")
    module = sys.modules["parts"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_parts_compute_what_the_whole_does(parts, name):
    """Outputs and gradients, of parts that end within a chunk too."""
    device = torch.device("cuda", 0)
    for tokens, count in ((128, 4), (700, 7)):
        error = parts.check(parts.fix(name, 16, device), tokens, count, 2, torch.float32, device)
        assert error is not None and error <= 1e-5, (tokens, count)


@pytest.mark.parametrize("gates", [0.1, "mixed", 0])
@pytest.mark.parametrize("name", ["gated_delta_net", "kda"])
def test_the_tokens_that_matter_make_a_summary(parts, name, gates):
    """Of parts that are long enough for a few tokens to be tried first: with decays that leave nothing, without decays, and with both
    among the heads."""
    device = torch.device("cuda", 0)
    assert parts.check(parts.fix(name, 16, device), 7500, 3, 2, torch.float32, device, gates) <= 1e-5


@pytest.mark.parametrize("name", ["gated_delta_net", "hgrn"])
def test_many_parts_are_one(parts, name):
    device = torch.device("cuda", 0)
    assert parts.check_combined(parts.fix(name, 16, device), 64, device) <= 1e-5
