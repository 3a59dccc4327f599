"""What people put around a layer to train it leaves its gradients as they are: data in parallel, sharded parameters, checkpoints,
retained graphs, autocast and exported programs. On a GPU where there is one (`tools/test-gpu`), else on the processor."""

import copy
import functools

import pytest
import test_distributed
from conftest import error_of

import recur

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import recur.torch  # noqa: E402  (the operators)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
B, T, HEADS, SIDE, WIDTH = 4, 70, 2, 8, 12
RWKV6 = recur.library.rwkv6.with_options(quick=True)


class Layer(torch.nn.Module):
    """rwkv6, whose bonus is a parameter, between projections."""

    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(WIDTH, 4 * HEADS * SIDE)
        self.mix = recur.torch.Module(RWKV6, HEADS, {"K": SIDE}, u=torch.linspace(-1, 1, HEADS * SIDE).reshape(HEADS, SIDE))
        self.out = torch.nn.Linear(HEADS * SIDE, WIDTH)

    def recur(self, projected):
        r, k, v, w = projected.unflatten(-1, (HEADS, 4, SIDE)).unbind(-2)
        return self.mix(r, k, v, -torch.nn.functional.softplus(w.float())).flatten(2).to(projected.dtype)

    def forward(self, x):
        return x + self.out(self.recur(self.project(x)))


@pytest.fixture
def model():
    return make_model()


def make_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(Layer(), Layer()).to(DEVICE)


@pytest.fixture
def x():
    return make_data()


def make_data():
    return torch.randn(B, T, WIDTH, generator=torch.Generator().manual_seed(1)).to(DEVICE)


def derive(model, x):
    """The loss's value and its gradients by the parameters."""
    loss = model(x).float().square().mean()
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    assert all(gradient is not None and gradient.abs().max() > 0 for gradient in gradients)
    return loss, gradients


def list_close(got, want):
    return [error_of(a.float().cpu(), b.float().cpu()) < 1e-5 for a, b in zip(got, want, strict=True)]


@pytest.fixture
def counted(monkeypatch):
    """How many calls forward and backward went the long way, as those of operators do."""
    seen = {"forward": 0, "backward": 0}

    def count(owner, name, what):
        function = getattr(owner, name)

        @functools.wraps(function)
        def wrapped(*arguments, **options):
            seen[what] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, wrapped)

    count(recur.torch, "run_keeping", "forward")
    count(recur.torch, "_differentiate", "backward")
    return seen


# ---- Several processes, or one where there is one GPU ----


def run_processes(work):
    if DEVICE == "cpu":
        return test_distributed.run_processes(2, work)
    torch.distributed.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{test_distributed.find_port()}", rank=0, world_size=1)
    try:
        return work(0, 1)
    finally:
        torch.distributed.destroy_process_group()


def take_share(x, rank, count):
    return x[rank * B // count : (rank + 1) * B // count]


def train_in_parallel(rank, count):
    model, x = make_model(), make_data()
    _, want = derive(copy.deepcopy(model), x)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    for _ in range(2):  # the second call goes the short way
        parallel.zero_grad()
        _, got = derive(parallel, take_share(x, rank, count))
        assert all(list_close(got, want))


def train_sharded(rank, count):
    from torch.distributed.fsdp import fully_shard

    model, x = make_model(), make_data()
    _, want = derive(copy.deepcopy(model), x)
    mesh = torch.distributed.device_mesh.init_device_mesh(DEVICE, (count,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for _ in range(2):
        model.zero_grad()
        _, got = derive(model, take_share(x, rank, count))
        assert all(list_close([gradient.full_tensor() for gradient in got], want))


@pytest.mark.parametrize("work", [train_in_parallel, train_sharded])
def test_several_processes(work):
    """Gradients are those of the whole batch in one process."""
    run_processes(work)


# ---- Checkpoints ----


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints(model, x, reentrant):
    """A layer that is computed again has the same bits."""
    _, want = derive(copy.deepcopy(model), x)

    class Again(torch.nn.Sequential):
        def forward(self, x):
            for layer in self:
                x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=reentrant)
            return x

    for _ in range(2):
        model.zero_grad()
        _, got = derive(Again(*model), x.clone().requires_grad_())
        assert all(map(torch.equal, got, want))


@pytest.mark.parametrize("saves", [True, False])
def test_selective_checkpoints(model, x, saves, counted):
    """A policy sees the operator: where it says that its results are saved, no kernel runs a second time."""
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

    _, want = derive(copy.deepcopy(model), x)

    def choose(context, operator, *arguments, **options):
        is_ours = operator == torch.ops.recur.forward.default
        return CheckpointPolicy.MUST_SAVE if is_ours and saves else CheckpointPolicy.PREFER_RECOMPUTE

    class Again(torch.nn.Sequential):
        def forward(self, x):
            for layer in self:
                x = checkpoint(layer, x, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, choose))
            return x

    counted.update(forward=0, backward=0)
    _, got = derive(Again(*model), x)
    assert all(map(torch.equal, got, want))
    assert counted == {"forward": 2 if saves else 4, "backward": 2}


# ---- Graphs that are kept, autocast, exported programs ----


def test_a_retained_graph(model, x):
    for _ in range(2):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward(retain_graph=True)
        once = [parameter.grad.clone() for parameter in model.parameters()]
        loss.backward()
        assert all(torch.equal(parameter.grad, 2 * gradient) for parameter, gradient in zip(model.parameters(), once))
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            loss.backward()


def test_autocast(model, x):
    """Projections give bfloat16, and the decays stay float32: gradients are those of a model that converts by itself."""
    parameters = list(model.parameters())
    for _ in range(2):
        model.zero_grad()
        with torch.autocast(DEVICE, torch.bfloat16):
            seen = []
            hook = model[0].mix.register_forward_pre_hook(lambda module, given: seen.extend(array.dtype for array in given))
            loss, got = derive(model, x)
            hook.remove()
        assert seen == [torch.bfloat16] * 3 + [torch.float32] and loss.isfinite()
        assert all(gradient.dtype == torch.float32 for gradient in got)
        got = [gradient.clone() for gradient in got]

    class Converted(torch.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            narrow = lambda linear, x: torch.nn.functional.linear(x.bfloat16(), linear.weight.bfloat16(), linear.bias.bfloat16())
            return x + narrow(self.layer.out, self.layer.recur(narrow(self.layer.project, x)))

    model.zero_grad()
    want_loss, _ = derive(torch.nn.Sequential(*map(Converted, model)), x)
    assert torch.equal(loss, want_loss)
    assert all(torch.equal(a, parameter.grad) for a, parameter in zip(got, parameters))


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_program_is_trained(model, x, strict):
    """Parameters of the program have the model's gradients, for another number of tokens too."""
    tokens = torch.export.Dim("tokens", min=2, max=4096)
    program = torch.export.export(model, (x,), strict=strict, dynamic_shapes=({1: tokens},)).module()
    for data in (x, x[:, :33]):
        model.zero_grad(), program.zero_grad()
        _, want = derive(model, data)
        derive(program, data)
        found = dict(program.named_parameters())
        assert all(torch.equal(found[name].grad, parameter.grad) for name, parameter in model.named_parameters())
    assert len(want) == 10
