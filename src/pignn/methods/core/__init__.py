"""What methods are built from. Which base class to take for a new method:

| the method | base class | implement |
|---|---|---|
| trains a network with another loss per node | `network.NetworkMethod` | `pointwise` |
| has a loss that needs the epoch, all logits or a second forward pass | `network.NetworkMethod` | `objective` |
| trains further networks, or in phases | `network.NetworkMethod` | `make_networks`, `list_phases`, `prepare_phase` |
| trains two networks that select nodes for each other | `committee.TwoNetworkMethod` | `objective` |
| knows or estimates a transition matrix | `methods.correction.TransitionMethod` | `objective` |
| is linear | `embedding_classifier.EmbeddingClassifier` | `_fit_weights_and_set_posterior`, `_with_known_transitions` |
| has no epochs and keeps a few tensors | `non_iterative.NonIterativeMethod` | `fit_state`, `compute_logits` |
| is none of these | `base.Method` | `fit`, `_compute_logits`, `_get_` and `_set_tensors_and_metadata` |

Settings are dataclass fields made by :func:`pignn.core.settings.setting`. One line in `pignn/methods/registry.py`, or
an entry point `pignn.methods` of another package, gives the method its name.
"""
