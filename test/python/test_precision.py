"""How a GPU multiplies float32: what a recurrence is asked for, and what PyTorch says where it is asked for nothing."""

import pytest
from conftest import draw

import recur
from recur import precision

torch = pytest.importorskip("torch")
SIZES = {"K": 16, "V": 8}


class OnGPU:
    """What is looked at of a tensor."""

    is_cuda = True

    def __init__(self, dtype=torch.float32):
        self.dtype = dtype


@pytest.fixture(autouse=True)
def usual_precision():
    yield
    torch.set_float32_matmul_precision("highest")


def test_pytorch_says_how():
    gdn = recur.library.gated_delta_net
    assert precision.choose(gdn, [OnGPU()], {}) is gdn
    for word in ("high", "medium"):
        torch.set_float32_matmul_precision(word)
        chosen = precision.choose(gdn, [OnGPU()], {})
        assert chosen is precision.choose(gdn, [], {"q": OnGPU()})
        assert chosen.request(SIZES, "float32", target="sm_90a").precision == "tf32"
        assert precision.choose(gdn, [OnGPU(torch.bfloat16)], {}) is gdn
        assert precision.choose(gdn, [torch.zeros(1)], {}) is gdn
    torch.set_float32_matmul_precision("highest")
    assert precision.choose(gdn, [OnGPU()], {}) is gdn


def test_what_is_asked_for_counts_more():
    torch.set_float32_matmul_precision("high")
    for asked in ("exact", "tf32"):
        gdn = recur.library.gated_delta_net.with_options(precision=asked)
        assert precision.choose(gdn, [OnGPU()], {}) is gdn and gdn.precision == asked
        assert gdn.request(SIZES, "float32", target="sm_90a").precision == asked
        assert gdn.request(SIZES, "float32").precision == "exact"  # of a processor
    with pytest.raises(recur.CompileError, match="precision: unknown value 'half'; known are exact, tf32"):
        gdn.with_options(precision="half")


def test_processors_are_exact():
    gdn = recur.library.gated_delta_net
    arrays = {name: torch.from_numpy(array) for name, array in draw(B=1, T=5, H=2, K=16, V=8).items()}
    exact = gdn(**arrays)
    torch.set_float32_matmul_precision("medium")
    assert torch.equal(gdn(**arrays), exact)
