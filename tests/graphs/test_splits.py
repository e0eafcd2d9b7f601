"""Which nodes train, validate and test."""

import pytest
import torch

from pignn.core.errors import DataError
from pignn.graphs import copy_with_random_trusted_labels, csbm
from pignn.graphs.splits import build_masks_from_indices, split_first_per_class, split_per_class


def test_every_class_gives_the_requested_numbers_of_nodes():
    y = torch.arange(600) % 6
    y[:12] = -1
    masks = split_per_class(y, 20, 30, seed=5)
    assert torch.bincount(y[masks.train_mask], minlength=6).tolist() == [20] * 6
    assert torch.bincount(y[masks.val_mask], minlength=6).tolist() == [30] * 6
    assert torch.equal(sum(m.int() for m in masks), (y >= 0).int())  # each labeled node in exactly one part


def test_all_nodes_of_a_class_are_equally_likely_to_train():
    y = torch.zeros(100, dtype=torch.long)
    hits = sum(split_per_class(y, 20, 30, seed=s).train_mask.int() for s in range(200))
    assert int(hits.min()) > 15  # 40 expected of every node
    assert int(hits.max()) < 70


@pytest.mark.parametrize("size", [3, 10, 50, 51, 60])
def test_small_classes_keep_all_three_parts(size):
    y = torch.cat([torch.zeros(size, dtype=torch.long), torch.ones(200, dtype=torch.long)])
    parts = [int(mask[:size].sum()) for mask in split_per_class(y)]
    assert sum(parts) == size
    assert min(parts) >= 1
    if size >= 51:
        assert parts == [20, 30, size - 50]
    else:
        assert parts[0] <= 20
        assert parts[1] <= 30


def test_a_class_too_small_to_split_is_a_one_line_error():
    with pytest.raises(DataError, match="cannot split: class 1 has 2 nodes"):
        split_per_class(torch.tensor([0, 0, 0, 0, 1, 1]))


def test_a_declared_class_may_have_no_labels():
    assert int(split_per_class(torch.tensor([0, 0, 0, 2, 2, 2])).train_mask.sum()) == 2


def test_the_first_nodes_of_every_class_train():
    y = torch.tensor([1, 0] * 100)
    masks = split_first_per_class(y, 20, 20)
    assert masks.train_mask.nonzero().view(-1).tolist() == list(range(40))
    assert masks.val_mask.nonzero().view(-1).tolist() == list(range(40, 80))
    assert masks.test_mask.nonzero().view(-1).tolist() == list(range(80, 200))


def test_masks_are_built_from_node_numbers():
    masks = build_masks_from_indices(5, torch.tensor([0, 4]), torch.tensor([1]), torch.tensor([2]))
    assert [m.nonzero().view(-1).tolist() for m in masks] == [[0, 4], [1], [2]]


def test_trusted_labels_are_drawn_among_nodes_in_no_split_and_join_the_training_nodes():
    data = csbm(300, 3)
    data.test_mask[data.test_mask.nonzero().view(-1)[::2]] = False
    trusted = copy_with_random_trusted_labels(data, 2)
    assert torch.bincount(data.y[trusted.trusted_mask], minlength=3).tolist() == [2, 2, 2]
    assert not bool((trusted.trusted_mask & (data.train_mask | data.val_mask | data.test_mask)).any())
    assert torch.equal(trusted.train_mask, data.train_mask | trusted.trusted_mask)
    assert "trusted_mask" not in data


def test_trusted_labels_are_training_nodes_where_every_node_is_in_a_split():
    data = csbm(300, 3)
    trusted = copy_with_random_trusted_labels(data, 1)
    assert bool((trusted.trusted_mask <= data.train_mask).all())
    assert int(trusted.trusted_mask.sum()) == 3
