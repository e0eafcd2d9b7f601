import copy
import warnings

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

import pignn
from pignn.core.errors import DataError, PignnWarning
from pignn.graphs import copy_checked_graph, num_classes

N = 6


def graph(**changes) -> Data:
    data = Data(
        x=torch.arange(12.0).view(N, 2),
        edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]),
        y=torch.tensor([0, 1, 0, 1, -1, -1]),
        train_mask=torch.tensor([True, True, True, True, False, False]),
        val_mask=torch.tensor([False, False, False, False, True, False]),
        test_mask=torch.tensor([False, False, False, False, False, True]),
    )
    for key, value in changes.items():
        if value is None:
            del data[key]
        else:
            data[key] = value
    return data


def with_value(value):
    x = graph().x.clone()
    x[3, 1] = value
    x[5, 0] = value
    return x


two_splits = torch.stack([graph().train_mask, graph().train_mask], dim=1)

BAD = {
    "not a Data": (lambda: {"x": 1}, {}, "expected a torch_geometric.data.Data, not dict"),
    "hetero": (lambda: HeteroData(), {}, r"heterogeneous graphs \(HeteroData\) are not supported"),
    "no x": (lambda: graph(x=None), {}, "x is missing"),
    "no edge_index": (lambda: graph(edge_index=None), {}, "edge_index is missing"),
    "no y": (lambda: graph(y=None), {}, "y is missing"),
    "no nodes": (
        lambda: Data(x=torch.empty(0, 2), edge_index=torch.empty(2, 0, dtype=torch.long)),
        {},
        "no nodes",
    ),
    "no columns": (lambda: graph(x=torch.empty(N, 0)), {}, "x has no columns"),
    "x one-dimensional": (lambda: graph(x=torch.ones(N)), {}, r"x must be .* not \[6\]"),
    "NaN": (
        lambda: graph(x=with_value(float("nan"))),
        {},
        "x has 2 NaN or infinite values, first at node 3, column 1",
    ),
    "infinite": (lambda: graph(x=with_value(float("inf"))), {}, "node 3, column 1"),
    "too large for float32": (
        lambda: graph(x=with_value(1.0).double() * 1e39),
        {},
        "NaN or infinite values, first at node 0, column 1",
    ),
    "too large for squares": (
        lambda: graph(x=with_value(-1e38)),
        {},
        "x has 2 huge values, first at node 3, column 1; scale the features",
    ),
    "edge too high": (
        lambda: graph(edge_index=torch.tensor([[0, 1, 6], [1, 2, 0]])),
        {},
        r"out of range at 1 edge, first at position 2 \(6 -> 0\); nodes are numbered 0 to 5",
    ),
    "edge negative": (
        lambda: graph(edge_index=torch.tensor([[0, 1], [-1, 2]])),
        {},
        r"position 0 \(0 -> -1\)",
    ),
    "edges transposed": (
        lambda: graph(edge_index=torch.tensor([[0, 1], [1, 2], [2, 3]])),
        {},
        r"shape \[2, edges\], not \[3, 2\]; transpose it",
    ),
    "edges float": (lambda: graph(edge_index=torch.rand(2, 4)), {}, "edge_index must hold integers"),
    "edge_weight negative": (
        lambda: graph(edge_weight=torch.tensor([1.0, -2.0, 1.0, 1.0])),
        {},
        "edge_weight must be finite and not negative, but is -2 at position 1",
    ),
    "edge_weight huge": (
        lambda: graph(edge_weight=torch.tensor([1.0, 1.0, 3e38, 1.0])),
        {},
        r"edge_weight must be below 1e\+18, but is 3e\+38 at position 2",
    ),
    "edge_weight NaN": (
        lambda: graph(edge_weight=torch.tensor([1.0, 1.0, 1.0, float("nan")])),
        {},
        "edge_weight must be finite and not negative, but is nan at position 3",
    ),
    "edge_weight length": (
        lambda: graph(edge_weight=torch.ones(3)),
        {},
        r"edge_weight has shape \[3\], but the graph has 4 edges",
    ),
    "label_weight negative": (
        lambda: graph(label_weight=-torch.ones(N)),
        {},
        "label_weight must be finite and not negative",
    ),
    "label_weight zero": (
        lambda: graph(label_weight=torch.tensor([0.0, 0, 0, 0, 1, 1])),
        {},
        "label_weight is 0 on every training node",
    ),
    "label_weight length": (
        lambda: graph(label_weight=torch.ones(2)),
        {},
        r"label_weight has shape \[2\], but the graph has 6 nodes",
    ),
    "y length": (lambda: graph(y=torch.tensor([0, 1])), {}, r"y has shape \[2\], but the graph has 6 nodes"),
    "y_true length": (lambda: graph(y_true=torch.tensor([0, 1])), {}, r"y_true has shape \[2\]"),
    "mask length": (
        lambda: graph(val_mask=torch.ones(4, dtype=torch.bool)),
        {},
        r"val_mask has shape \[4\], but the graph has 6 nodes",
    ),
    "multi-label": (lambda: graph(y=torch.zeros(N, 3)), {}, r"multi-label data is not supported.*\[6, 3\]"),
    "labels not integers": (
        lambda: graph(y=torch.tensor([0.5, 1, 0, 1, 0, 1])),
        {},
        "y: labels not integers",
    ),
    "labels NaN": (
        lambda: graph(y=torch.tensor([float("nan"), 1, 0, 1, 0, 1])),
        {},
        "y: labels not integers",
    ),
    "label below -1": (
        lambda: graph(y=torch.tensor([0, -2, 0, 1, 0, 1])),
        {},
        "y has 1 label out of range, first -2 at node 1; labels are 0 to 1",
    ),
    "label above classes": (
        lambda: graph(y=torch.tensor([0, 1, 0, 2, 0, 1]), class_names=["a", "b"]),
        {},
        "y has 1 label out of range, first 2 at node 3; labels are 0 to 1",
    ),
    "y_true above classes": (
        lambda: graph(y_true=torch.tensor([0, 1, 0, 1, 0, 3]), class_names=["a", "b"]),
        {},
        "y_true has 1 label out of range, first 3 at node 5",
    ),
    "absurd label": (
        lambda: graph(y=torch.tensor([0, 1, 0, 10**12, 0, 1])),
        {},
        "the largest label is 1000000000000 on 6 nodes",
    ),
    "names a text": (lambda: graph(class_names="ab"), {}, "class_names must be a list of names, not 'ab'"),
    "names a number": (lambda: graph(class_names=3), {}, "class_names must be a list of names, not 3"),
    "names a dictionary": (lambda: graph(class_names={"a": 1, "b": 0}), {}, "class_names must be a list of names"),
    "a name twice": (lambda: graph(class_names=["a", "b", "a"]), {}, "class_names has 'a' twice"),
    "an infinite label": (lambda: graph(y=torch.tensor([0, 1, 0, 1, float("inf"), 0])), {}, "y: labels not integers"),
    "another number of nodes": (lambda: graph(num_nodes=9), {}, "num_nodes is 9, but x has 6 rows"),
    "split_index a text": (
        lambda: graph(train_mask=two_splits),
        {"split_index": "0"},
        "split_index must be an integer of at least 0",
    ),
    "split_index true": (
        lambda: graph(train_mask=two_splits),
        {"split_index": True},
        "split_index must be an integer of at least 0",
    ),
    "sparse labels": (lambda: graph(y=torch.ones(N).to_sparse()), {}, "y must be a dense tensor"),
    "complex weights": (
        lambda: graph(label_weight=torch.ones(N) * 1j),
        {},
        "label_weight must be real numbers, not complex64",
    ),
    "splits without index": (
        lambda: graph(train_mask=two_splits),
        {},
        "train_mask holds 2 splits; choose one with split_index=0 to 1, passed to fit",
    ),
    "split_index too high": (
        lambda: graph(train_mask=two_splits),
        {"split_index": 2},
        "split_index 2 is out of range: train_mask holds 2 splits",
    ),
    "split_index of one split": (
        lambda: graph(),
        {"split_index": 1},
        "split_index 1 is out of range: the masks hold 1 split",
    ),
    "mask of indices": (
        lambda: graph(train_mask=torch.tensor([0, 1, 2, 3])),
        {},
        "train_mask must be boolean, not int64; from node numbers make one with .*index_to_mask",
    ),
    "trusted of floats": (lambda: graph(trusted_mask=torch.rand(N)), {}, "trusted_mask must be boolean"),
    "empty train_mask": (
        lambda: graph(train_mask=torch.zeros(N, dtype=torch.bool)),
        {},
        "train_mask is empty",
    ),
    "no training labels": (
        lambda: graph(y=torch.tensor([-1, -1, -1, -1, 0, 1])),
        {},
        "no training node has a label",
    ),
    "one class": (
        lambda: graph(y=torch.tensor([1, 1, 1, 1, 0, 0]), class_names=["cat", "dog"]),
        {},
        r"all training nodes carry one class \(1 \(dog\)\)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line(case):
    make, options, message = BAD[case]
    with pytest.raises(DataError, match=message) as caught:
        copy_checked_graph(make(), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", [[1], (1,), torch.ones(3), HeteroData()])
def test_objects_that_are_not_graphs_are_refused_everywhere(what):
    model = pignn.make("prototypes").fit(pignn.load("csbm", num_nodes=120))
    for use in (
        copy_checked_graph,
        model.fit,
        model.predict,
        model.score,
        lambda data: pignn.corrupt(data, "symmetric", 0.3),
    ):
        with pytest.raises(DataError, match=r"expected a torch_geometric\.data\.Data|heterogeneous graphs"):
            use(what)


def test_checking_converts_types_and_does_not_change_the_original():
    data = graph(
        x=torch.arange(12).view(N, 2),
        edge_index=torch.tensor([[0, 1], [1, 2]], dtype=torch.int32),
        y=torch.tensor([0, 1, 0, 1, -1, -1], dtype=torch.int16).view(-1, 1),
        y_true=torch.tensor([0.0, 1, 0, 1, 0, 1]),
        train_mask=torch.tensor([1, 1, 1, 1, 0, 0], dtype=torch.uint8),
        val_mask=None,
        test_mask=torch.tensor([0, 0, 0, 0, 0, 1]),
        edge_weight=torch.tensor([1, 2]).view(-1, 1),
        label_weight=torch.ones(N, dtype=torch.float64),
        trusted_mask=torch.tensor([1, 0, 0, 0, 0, 0]),
    )
    before = copy.copy(data)
    out = copy_checked_graph(data)
    assert out.x.dtype == torch.float32
    assert out.edge_index.dtype == out.y.dtype == out.y_true.dtype == torch.int64
    assert out.y.tolist() == [0, 1, 0, 1, -1, -1]
    assert out.train_mask.tolist() == [True] * 4 + [False] * 2
    assert out.test_mask.tolist() == [False] * 5 + [True]
    assert not out.val_mask.any()
    assert out.val_mask.dtype == out.trusted_mask.dtype == torch.bool
    assert out.edge_weight.dtype == out.label_weight.dtype == torch.float32
    assert out.edge_weight.tolist() == [1.0, 2.0]
    assert data.x is before.x
    assert data.y.shape == (N, 1)
    assert "val_mask" not in data


def test_numpy_arrays_and_sparse_features_are_accepted():
    sparse = graph().x.to_sparse()
    out = copy_checked_graph(graph(x=sparse, y=np.array([0, 1, 0, 1, -1, -1])))
    assert out.x.layout == torch.strided
    assert torch.equal(out.x, graph().x)
    assert out.y.dtype == torch.int64


def test_a_graph_without_edges_is_accepted():
    assert copy_checked_graph(graph(edge_index=torch.tensor([[], []]))).edge_index.dtype == torch.int64


def test_split_index_picks_the_column():
    other = torch.tensor([False, True, True, False, False, False])
    data = graph(train_mask=torch.stack([graph().train_mask, other], dim=1))
    assert torch.equal(copy_checked_graph(data, split_index=1).train_mask, other)
    assert torch.equal(copy_checked_graph(data, split_index=1).test_mask, graph().test_mask)  # one-dimensional: for all


def test_masks_with_one_column_need_no_split_index():
    assert torch.equal(
        copy_checked_graph(graph(train_mask=graph().train_mask.view(-1, 1))).train_mask, graph().train_mask
    )


def test_unlabeled_training_nodes_are_left_out_with_a_warning():
    data = graph(y=torch.tensor([0, 1, -1, -1, 0, 1]))
    with pytest.warns(PignnWarning, match="2 training nodes without a label"):
        out = copy_checked_graph(data)
    assert out.train_mask.tolist() == [True, True, False, False, False, False]
    assert data.train_mask.sum() == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy_checked_graph(out)


def test_a_class_without_training_nodes_is_a_warning_that_names_it():
    with pytest.warns(PignnWarning, match=r"no training node carries class 2 \(owl\)"):
        copy_checked_graph(graph(class_names=["cat", "dog", "owl"]))


def test_overlap_of_train_and_test_is_a_warning():
    with pytest.warns(PignnWarning, match="1 node in both train_mask and test_mask"):
        copy_checked_graph(graph(test_mask=torch.tensor([True, False, False, False, False, True])))


def test_without_labels_only_structure_is_checked():
    data = graph(y=None, train_mask=None)
    assert "y" not in copy_checked_graph(data, needs_labels=False)
    with pytest.raises(DataError, match="NaN"):
        copy_checked_graph(graph(x=with_value(float("nan")), y=None), needs_labels=False)
    with pytest.raises(DataError, match="edge_weight"):
        copy_checked_graph(graph(edge_weight=-torch.ones(4), y=None), needs_labels=False)


def test_number_of_classes_is_declared_not_inferred_from_what_is_left():
    assert num_classes(graph()) == 2
    assert num_classes(graph(y_true=torch.tensor([0, 1, 0, 1, 4, 1]))) == 2  # the truth has no say
    assert num_classes(graph(class_names=["a", "b", "c"])) == 3
    assert num_classes(Data()) == 0


def test_without_a_train_mask_all_labels_that_are_not_held_out_are_learned_from():
    data = graph(train_mask=None)
    data.y[0] = -1
    data.val_mask = torch.arange(N) == 1
    with pytest.warns(PignnWarning, match="no train_mask: all 2 labels"):
        checked = copy_checked_graph(data)
    assert checked.train_mask.tolist() == [False, False, True, True, False, False]
    assert data.get("train_mask") is None


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_edge_attr_is_not_ignored_silently(shape):
    data = graph()
    data.edge_attr = torch.rand(data.edge_index.shape[1], *shape)
    with pytest.warns(PignnWarning, match="edge_attr is not used; if it holds the weights"):
        copy_checked_graph(data)
    data.edge_weight = torch.ones(data.edge_index.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy_checked_graph(data)
