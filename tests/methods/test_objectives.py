"""Every loss against its formula, and every strategy by what it selects, on cases small enough to work out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

import pignn
from pignn import backbones, graphs
from pignn.core.errors import PignnWarning
from pignn.graphs.sparse import SparsityPattern
from pignn.methods import dividemix, lpm, t_revision
from pignn.methods.core import committee, learner
from pignn.methods.core.losses import compute_forward_corrected_losses
from pignn.methods.planetoid import sample_walks

H = torch.tensor([[2.0, 0.5, -1.0], [0.1, 0.2, 0.3], [-3.0, 4.0, 0.0], [1.0, 1.0, 1.0]])
Y = torch.tensor([0, 2, 0, 1])


def softmax(h):
    e = [[math.exp(v) for v in row] for row in h.tolist()]
    return np.array([[v / sum(row) for v in row] for row in e])


P = softmax(H)
OWN = P[range(4), Y.tolist()]


def step(h=H, y=Y, *, epoch=0, phase="training", trusted=None, weight=None, networks=None, evaluate=None):
    n = len(y)
    return learner.Step(
        epoch=epoch,
        phase=phase,
        nodes=torch.arange(n),
        y=y,
        weight=torch.full((n,), 1 / n) if weight is None else weight,
        trusted=torch.zeros(n, dtype=torch.bool) if trusted is None else trusted,
        logits=h,
        logits_all=h,
        inputs=None,
        input_nodes=torch.arange(n),
        rows=torch.arange(n),
        networks=networks or {},
        eval_logits=evaluate or (lambda: h.detach()),
    )


# ---- losses ----


@pytest.mark.parametrize("q", [0.1, 0.7, 1.0])
def test_gce_equals_its_formula(q):
    expected = [(1 - p**q) / q for p in OWN]
    np.testing.assert_allclose(pignn.make("gce", q=q).pointwise(H, Y), expected, rtol=1e-5)


def test_gce_is_cross_entropy_near_zero_and_absolute_error_at_one():
    np.testing.assert_allclose(pignn.make("gce", q=1e-4).pointwise(H, Y), -np.log(OWN), rtol=1e-3)
    np.testing.assert_allclose(pignn.make("gce", q=1.0).pointwise(H, Y), 1 - OWN, rtol=1e-5)


def test_truncated_gce_leaves_out_unlikely_labels_until_the_next_update():
    method = pignn.make("gce", truncated=True, start=2, refresh=3, k=0.5)
    from pignn.methods.gce import KeptNodes

    kept = {"kept": KeptNodes(4)}
    h = H.clone().requires_grad_()
    method.objective(step(h, epoch=1, networks=kept)).backward()
    assert (h.grad.abs().sum(1) > 0).all()
    h = H.clone().requires_grad_()
    loss = method.objective(step(h, epoch=2, networks=kept))
    loss.backward()
    assert (h.grad.abs().sum(1) > 0).tolist() == [True, False, False, False]  # p_y: .79, .37, .001, .33
    held = (1 - 0.5**0.7) / 0.7
    assert loss.item() == pytest.approx(((1 - OWN[0] ** 0.7) / 0.7 + 3 * held) / 4, rel=1e-5)
    surer = torch.eye(3)[Y] * 9
    method.objective(step(surer, epoch=3, networks=kept))
    assert kept["kept"].kept.tolist() == [True, False, False, False]  # looked at again in epoch 5 only
    method.objective(step(surer, epoch=5, networks=kept))
    assert kept["kept"].kept.all()
    h = -surer
    assert method.objective(step(h.requires_grad_(), epoch=8, networks=kept)).requires_grad  # none is left: all are


def test_apl_and_sce_equal_their_formulas():
    nce = np.log(OWN) / np.log(P).sum(1)
    rce = -(P * np.where(np.eye(3)[Y.numpy()] == 1, 0.0, math.log(1e-4))).sum(1)
    np.testing.assert_allclose(pignn.make("apl").pointwise(H, Y), nce + rce, rtol=1e-5)
    np.testing.assert_allclose(pignn.make("apl", active=2.0, passive=0.5).pointwise(H, Y), 2 * nce + rce / 2, rtol=1e-5)
    np.testing.assert_allclose(pignn.make("sce").pointwise(H, Y), -0.1 * np.log(OWN) + rce, rtol=1e-5)


T = np.array([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.3, 0.3, 0.4]])


def test_forward_and_s_model_equal_their_formulas():
    expected = -np.log((P @ T)[range(4), Y.tolist()])
    np.testing.assert_allclose(compute_forward_corrected_losses(H, Y, torch.tensor(T)), expected, rtol=1e-5)
    trusted = torch.tensor([True, False, False, False])
    expected[0] = -math.log(OWN[0])
    np.testing.assert_allclose(compute_forward_corrected_losses(H, Y, torch.tensor(T), trusted), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["forward", "backward", "s-model"])
def test_corrections_use_the_transition_that_is_set(noisy, name):
    method = pignn.make(name, transition=T.tolist(), epochs=2).fit(noisy)
    assert method.transition_ == T.tolist()
    networks = {"noise": method.networks_["noise"]} if name == "s-model" else None
    found = method.objective(step(networks=networks)).item()
    if name == "backward":
        inverse = np.linalg.inv(T)
        expected = -np.mean([(inverse[y] * np.log(P[i])).sum() for i, y in enumerate(Y.tolist())])
    else:
        used = T if name == "forward" else networks["noise"]().detach().numpy()
        expected = -np.log((P @ used)[range(4), Y.tolist()]).mean()
    assert found == pytest.approx(expected, rel=1e-5)
    if name == "s-model":
        assert not np.allclose(used, T, atol=1e-4)  # it has learnt
        np.testing.assert_allclose(used, T, atol=0.1)


def test_backward_is_unbiased(noisy):
    """Averaged over the noise of a label, the corrected loss is the loss of the true one."""
    method = pignn.make("backward", transition=T.tolist(), epochs=1).fit(noisy)
    for true in range(3):
        each = [method.objective(step(H[:1], torch.tensor([given]))).item() for given in range(3)]
        assert T[true] @ each == pytest.approx(-math.log(P[0, true]), rel=1e-4)


def test_backward_warns_about_a_singular_matrix(noisy):
    with pytest.warns(pignn.PignnWarning, match="rows are too alike"):
        pignn.make("backward", transition=[[1 / 3] * 3] * 3, epochs=1).fit(noisy)


# ---- two networks ----

TWO = torch.stack([H, torch.tensor([[1.0, 2.0, 0.0], [0.1, 0.2, 0.3], [9.0, 0.0, 0.0], [0.0, 3.0, 0.0]])])


def test_small_losses_are_selected_and_trusted_ones_first():
    loss, nobody = torch.tensor([3.0, 1.0, 2.0, 4.0]), torch.zeros(4, dtype=torch.bool)
    assert committee.build_small_loss_mask(loss, 0.5, nobody).tolist() == [False, True, True, False]
    assert committee.build_small_loss_mask(loss, 0.0, nobody).sum() == 1
    assert committee.build_small_loss_mask(loss, 1.0, nobody).all()
    trusted = torch.tensor([False, False, False, True])
    assert committee.build_small_loss_mask(loss, 0.5, trusted).tolist() == [False, True, False, True]
    assert committee.build_small_loss_mask(torch.empty(0), 0.5, nobody[:0]).tolist() == []
    assert [committee.compute_forget_share(epoch, 0.4, 10) for epoch in (0, 5, 10, 99)] == pytest.approx(
        [0, 0.2, 0.4, 0.4]
    )
    assert committee.compute_forget_share(0, 0.4, 0) == 0.4


def test_decoupling_learns_where_predictions_differ():
    h = TWO.clone().requires_grad_()
    loss = pignn.make("decoupling").objective(step(h))
    loss.backward()
    # Said by the first: 0, 2, 1, 0 (ties to the first); by the second: 1, 2, 0, 1.
    assert (h.grad.abs().sum((0, 2)) > 0).tolist() == [True, False, True, True]
    agreed = TWO[:1].repeat(2, 1, 1).requires_grad_()
    loss = pignn.make("decoupling").objective(step(agreed))
    loss.backward()
    assert loss.item() == 0
    assert (agreed.grad == 0).all()


def test_co_teaching_learns_from_what_the_other_picked():
    method = pignn.make("co-teaching", forget_rate=0.5, ramp=0)
    method.forget_rate_ = 0.5
    h = TWO.clone().requires_grad_()
    method.objective(step(h)).backward()
    first, second = (-np.log(softmax(member)[range(4), Y.tolist()]) for member in TWO)
    best = [set(np.argsort(loss)[:2].tolist()) for loss in (first, second)]
    assert best == [{0, 1}, {2, 3}]
    learnt = [set(member.abs().sum(1).nonzero().view(-1).tolist()) for member in h.grad]
    assert learnt == best[::-1]
    # Nothing is forgotten in epoch 0 of a ramp.
    h = TWO.clone().requires_grad_()
    method.set_params(ramp=10).objective(step(h)).backward()
    assert (h.grad.abs().sum(2) > 0).all()


def test_the_forget_rate_is_estimated_unless_given(noisy):
    estimated = pignn.make("co-teaching", epochs=2).fit(noisy).forget_rate_
    assert 0.1 < estimated < 0.5
    assert pignn.make("co-teaching", epochs=2, forget_rate=0.2).fit(noisy).forget_rate_ == 0.2


def test_the_noise_is_estimated_from_validation_labels_too(noisy):
    forward = pignn.make("forward", epochs=2).fit(noisy)
    count = int(((noisy.train_mask | noisy.val_mask) & (noisy.y >= 0)).sum())
    assert f"of {count} labels wrong (between" in forward.get_fit_facts().explanation
    alone = noisy.clone()
    alone.val_mask = torch.zeros_like(alone.val_mask)
    fewer = pignn.make("forward", epochs=2, selection="last").fit(alone)
    assert fewer.transition_ != forward.transition_
    assert pignn.make("forward", epochs=2, transition=np.eye(3).tolist()).fit(noisy).get_fit_facts().explanation is None


def test_a_method_says_that_few_labels_cannot_tell_the_noise(noisy):
    few = noisy.clone()
    keep = few.train_mask.nonzero().view(-1)[::6]
    few.train_mask = torch.zeros_like(few.train_mask).index_fill_(0, keep, True)
    few.val_mask = torch.zeros_like(few.val_mask)
    with pytest.warns(PignnWarning, match="the labels cannot tell; set what you know"):
        pignn.make("forward", epochs=2, selection="last").fit(few)


def test_jocor_equals_its_formula():
    method = pignn.make("jocor", forget_rate=0.5, ramp=0, agreement=0.3)
    method.forget_rate_ = 0.5
    a, b = softmax(TWO[0]), softmax(TWO[1])
    kl = (a * np.log(a / b)).sum(1) + (b * np.log(b / a)).sum(1)
    joint = 0.7 * -(np.log(a) + np.log(b))[range(4), Y.tolist()] + 0.3 * kl
    assert method.objective(step(TWO)).item() == pytest.approx(np.sort(joint)[:2].mean(), rel=1e-5)


def test_a_committee_predicts_by_its_mean_probability(noisy):
    model = pignn.make("decoupling", epochs=3, feature_scaling="none").fit(noisy)
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    with torch.no_grad():
        members = [member(inputs).softmax(-1) for member in model.networks_["classifier"].members]
    np.testing.assert_allclose(model.predict_proba(noisy), (members[0] + members[1]).numpy() / 2, atol=1e-5)
    assert not torch.allclose(*members)


def test_a_weighted_mean_over_some_nodes_keeps_the_scale():
    weight = torch.tensor([0.1, 0.2, 0.3, 0.4])
    some = step(weight=weight)
    each, chosen = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([True, False, True, False])
    assert some.weighted_mean(each).item() == pytest.approx(3.0)
    assert some.weighted_mean(each, chosen).item() == pytest.approx((0.1 + 0.9) / 0.4)
    assert some.weighted_mean(each, torch.zeros(4, dtype=torch.bool)).item() == 0


# ---- DivideMix ----


def test_two_gaussians_divide_small_losses_from_large_ones():
    losses = torch.tensor([[0.1, 0.12, 0.15, 2.0, 2.1], [3.0, 0.2, 0.25, 3.1, 0.22]])
    clean = dividemix.compute_clean_probs_by_loss_mixture(losses)
    assert (clean > 0.5).tolist() == [[True, True, True, False, False], [False, True, True, False, True]]
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(0)
    sample = np.r_[rng.normal(0.3, 0.1, 300), rng.normal(1.5, 0.3, 200)].clip(0)
    scaled = ((sample - sample.min()) / np.ptp(sample))[:, None]
    mixture = GaussianMixture(2, reg_covar=5e-4, random_state=0).fit(scaled)
    expected = mixture.predict_proba(scaled)[:, mixture.means_.argmin()]
    found = dividemix.compute_clean_probs_by_loss_mixture(
        torch.tensor(sample, dtype=torch.float32)[None], iterations=50
    )[0]
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("losses", [[0.7] * 5, [0.7], [0.0, 1e9], [0.0, 0.0, 0.0, 1.0]])
def test_equal_losses_give_no_nan(losses):
    clean = dividemix.compute_clean_probs_by_loss_mixture(torch.tensor([losses, losses]))
    assert torch.isfinite(clean).all()
    if len(set(losses)) == 1:
        assert (clean == 1).all()


def test_sharpening_squares_at_one_half():
    p = torch.tensor([[0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(dividemix.sharpen_probs(p, 0.5), p.square() / p.square().sum(1, keepdim=True), atol=1e-6)


def test_each_network_gets_the_split_of_the_other(monkeypatch):
    """Network 0 finds node 2 wrong, network 1 node 0: each takes the other's word for it."""
    method = pignn.make("dividemix", warm_epochs=0)
    monkeypatch.setattr(
        dividemix, "compute_clean_probs_by_loss_mixture", lambda losses: torch.tensor([[1.0, 1, 0, 1], [0, 1.0, 1, 1]])
    )
    seen = []
    monkeypatch.setattr(method, "_compute_network_loss", lambda *args: seen.append(args[3].tolist()) or torch.zeros(()))
    method.objective(step(TWO))
    assert seen == [[0, 1, 1, 1], [1, 1, 0, 1]]


def test_dividemix_by_hand(monkeypatch):
    """Nothing mixed (share 1): CE on labeled targets + λ_u·squared error on the others + KL to the uniform prior."""
    method = pignn.make("dividemix", warm_epochs=0, ramp=4, unlabeled_weight=10.0)
    clean = torch.tensor([0.9, 0.2, 0.8, 0.3])
    one = step(TWO, epoch=2)
    monkeypatch.setattr(torch.distributions.Beta, "sample", lambda self: torch.tensor(1.0))
    p = [softmax(member) for member in TWO]
    mean, given, w = (p[0] + p[1]) / 2, np.eye(3)[Y.numpy()], clean.numpy()[:, None]
    target = np.where(w > 0.5, w * given + (1 - w) * p[0], mean) ** 2
    target /= target.sum(1, keepdims=True)
    labeled = -(target * np.log(p[0])).sum(1)[[0, 2]].mean()
    unlabeled = ((p[0] - target) ** 2).mean(1)[[1, 3]].mean()
    prior = (np.log(1 / 3) - np.log(p[0].mean(0))).mean()
    found = method._compute_network_loss(one, 0, torch.tensor(np.stack(p)), clean, 0.5)
    assert found.item() == pytest.approx(labeled + 5.0 * unlabeled + prior, rel=1e-4)


def test_every_class_counts_the_same_in_the_warm_up():
    y = torch.tensor([0, 0, 0, 1])
    loss = pignn.make("dividemix").objective(step(TWO, y)).item()
    each = [-np.log(softmax(member)[range(4), y.tolist()]) for member in TWO]
    assert loss == pytest.approx(sum(e[:3].mean() / 2 + e[3] / 2 for e in each), rel=1e-5)


# ---- T-Revision ----


def test_anchors_are_just_below_the_percentile():
    probs = torch.linspace(0, 1, 101)
    rows = t_revision.estimate_transition_at_anchors(torch.stack([probs, 1 - probs], dim=1), 97)
    np.testing.assert_allclose(rows, [[0.97, 0.03], [0.03, 0.97]], atol=1e-6)
    np.testing.assert_allclose(
        t_revision.estimate_transition_at_anchors(torch.tensor([[0.2, 0.8]]), 97), [[0.2, 0.8]] * 2
    )


def test_the_slack_learns_and_rows_stay_probabilities(noisy):
    model = pignn.make("t-revision", epochs=30, posterior_epochs=20, slack_lr=0.05).fit(noisy)
    revision = model.networks_["revision"]
    assert revision.slack.abs().max() > 0.01
    np.testing.assert_allclose(revision().detach().sum(1), 1, atol=1e-6)
    assert (revision() >= 0).all()
    np.testing.assert_allclose(revision.anchored.sum(1), 1, atol=1e-5)
    assert [row["phase"] for row in model.history_].count("posterior") == 20


def test_t_revision_equals_its_formula():
    revision = t_revision.Revision(3)
    revision.anchored.copy_(torch.tensor(T))
    h = H.clone().requires_grad_()
    method = pignn.make("t-revision")
    loss = method.objective(step(h, networks={"revision": revision}))
    matrix = np.maximum(T, 1e-6)  # what is 0 may become more
    weight = OWN / (P @ (matrix / matrix.sum(1, keepdims=True)))[range(4), Y.tolist()]
    assert loss.item() == pytest.approx((-np.log(OWN) * weight).mean(), rel=1e-4)
    loss.backward()
    # The weight is a constant to the classifier, and the way by which the slack learns.
    expected = weight[:, None] / 4 * (P - np.eye(3)[Y.numpy()])
    np.testing.assert_allclose(h.grad, expected, rtol=1e-4, atol=1e-6)
    assert revision.slack.grad.abs().sum() > 0
    assert method.objective(step(phase="posterior")).item() == pytest.approx(-np.log(OWN).mean(), rel=1e-5)


# ---- LPM ----


def test_propagated_labels_come_from_the_nearer_seed_and_nowhere_else():
    path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    data = graphs.copy_checked_graph(
        Data(
            x=torch.ones(7, 3),
            edge_index=torch.cat([path, path.flip(0)], 1),
            y=torch.tensor([0, -1, -1, -1, 1, -1, 0]),
            train_mask=torch.tensor([1, 0, 0, 0, 1, 0, 1]).bool(),
        )
    )
    inputs = backbones.GraphInputs.from_data(data)
    labels = lpm.predict_by_propagating_labels(inputs, data.y, torch.tensor([0, 4]), 2, 0.9, 50)
    assert labels.tolist() == [0, 0, 0, 1, 1, -1, -1] or labels.tolist() == [0, 0, 1, 1, 1, -1, -1]


def test_the_meta_gradient_is_the_one_that_autograd_finds():
    torch.manual_seed(0)
    x, y, other = torch.randn(30, 6).double(), torch.randint(3, (30,)), torch.randint(3, (30,))
    network = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    trusted = torch.arange(30) < 6
    share = torch.rand(30).double()
    method = pignn.make("lpm", step_size=0.3)

    def evaluate(parameters=None):
        return network(x) if parameters is None else torch.func.functional_call(network, parameters, (x,))

    weight = torch.rand(30).double()
    one = step(network(x), y, trusted=trusted, weight=weight, networks={"classifier": network}, evaluate=evaluate)
    found = method.compute_meta_gradient(one, other, share)

    share.requires_grad_()
    parameters = dict(network.named_parameters())
    ours, theirs = (nn.functional.cross_entropy(network(x), t, reduction="none") for t in (other, y))
    loss = (weight * (share * ours + (1 - share) * theirs)).sum()
    gradient = torch.autograd.grad(loss, list(parameters.values()), create_graph=True)
    ahead = {name: p - 0.3 * g for (name, p), g in zip(parameters.items(), gradient, strict=True)}
    after = nn.functional.cross_entropy(torch.func.functional_call(network, ahead, (x,))[trusted], y[trusted])
    expected = torch.autograd.grad(after, share)[0]
    np.testing.assert_allclose(found / found.norm(), expected / expected.norm(), atol=1e-4)


# ---- without networks ----


def test_label_propagation_by_hand():
    """A path 0-1-2 with labels at its ends: the middle is even; a far node stays with the shares of the labels."""
    data = Data(
        x=torch.randn(4, 2),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        y=torch.tensor([0, -1, 1, -1]),
        train_mask=torch.tensor([1, 0, 1, 0]).bool(),
    )
    proba = pignn.make("label-propagation").fit(data).predict_proba(data)
    np.testing.assert_allclose(proba, [[1, 0], [0.5, 0.5], [0, 1], [0.5, 0.5]], atol=1e-5)
    data.edge_index = torch.tensor([[0, 1], [1, 0]])
    data.y[1], data.train_mask[1] = 1, True
    loose = pignn.make("label-propagation", clamped=False).fit(data).predict_proba(data)
    assert 0 < loose[0, 1] < 0.5 < loose[1, 1] < 1


def test_ica_uses_the_neighbors():
    noisy = pignn.corrupt(graphs.csbm(num_nodes=300, num_classes=3, signal=5.0, seed=0), "symmetric", 0.2, seed=0)
    model = pignn.make("ica").fit(noisy)
    assert model.state_["with_neighbors"].shape == (32 + 3 + 1, 3)
    alone = (noisy.x @ model.state_["features_only"][:-1] + model.state_["features_only"][-1]).argmax(1)
    test = noisy.test_mask
    assert model.score(noisy) >= (alone == noisy.y_true)[test].float().mean()
    cut = noisy.clone()
    cut.edge_index = noisy.edge_index[:, :0]
    assert not np.array_equal(model.embed(cut), model.embed(noisy))


def test_walks_follow_edges_and_stay_where_there_are_none():
    ring = SparsityPattern.from_row_sorted(torch.arange(5), (torch.arange(5) + 1) % 5, (5, 5))
    assert sample_walks(ring, torch.tensor([0, 3]), 3).tolist() == [[0, 1, 2, 3], [3, 4, 0, 1]]
    lonely = SparsityPattern.from_row_sorted(
        torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64), (3, 3)
    )
    assert sample_walks(lonely, torch.tensor([2]), 2).tolist() == [[2, 2, 2]]
