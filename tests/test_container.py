"""The Dockerfile names what is there: files that reach the builder, extras, and the command."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_the_dockerfile_copies_what_is_there_and_installs_extras_that_exist() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line[0] == "!"}
    copied = {name for line in re.findall(r"^COPY (.*) \S+$", text, re.M) for name in line.split()}
    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)
    assert {project["readme"], *project["license-files"], "constraints.txt"} <= copied
    extras = re.search(r'EXTRAS="(.*)"', text)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    assert 'ENTRYPOINT ["pignn"]' in text
    assert "pignn" in project["scripts"]
    assert re.search(r"^USER (?!root)", text, re.M)


def test_the_kuberay_file_of_the_docs_is_consistent() -> None:
    """It parses, its pods mount what there is, and have the memory that the commands below it give to their tasks."""
    page = (ROOT / "docs/howto/cluster.md").read_text(encoding="utf-8")
    block = re.search(r"```yaml\n(.*?)```", page, re.S)
    assert block is not None
    claim, cluster = yaml.safe_load_all(block[1])
    assert (claim["kind"], claim["spec"]["accessModes"]) == ("PersistentVolumeClaim", ["ReadWriteMany"])
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    (workers,) = cluster["spec"]["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    images = set()
    for group in (cluster["spec"]["headGroupSpec"], workers):
        pod = group["template"]["spec"]
        (container,), (volume,) = pod["containers"], pod["volumes"]
        assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/shared"}]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        images.add(container["image"])
    assert len(images) == 1
    limits, start = container["resources"]["limits"], workers["rayStartParams"]
    assert start["num-cpus"] == limits["cpu"]
    commands = page[block.end() :]
    (memory,) = set(re.findall(r"--memory (\d+)GB", commands))
    tasks = int(limits["cpu"]) * int(memory) * 10**9
    assert tasks + int(start["object-store-memory"]) <= int(limits["memory"].removesuffix("Gi")) << 30
    assert set(re.findall(r"ray.io/cluster=(\w+)", commands)) == {cluster["metadata"]["name"]}
    version = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    assert version is not None
    assert f"FROM rayproject/ray:{version[1]}-py311-cpu" in page
    assert cluster["spec"]["rayVersion"] == version[1]
    assert next(iter(images)) in page[: block.start()]  # the one that the page builds
