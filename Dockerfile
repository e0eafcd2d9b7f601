# pignn in the versions of constraints.txt: the commands, and `serve` for a model.
#   docker build -t pignn .
#   docker run --rm -v "$PWD:/work" pignn audit --nodes papers.csv --edges citations.csv --label topic --out audits/first
#   docker run --rm -v "$PWD:/work:ro" -p 127.0.0.1:8000:8000 pignn serve runs/mine --host 0.0.0.0
# PyPI's torch for Linux brings CUDA. For the small build without it, name the package index of PyTorch's CPU builds:
#   docker build --build-arg PIP_EXTRA_INDEX_URL=... -t pignn .
FROM python:3.11-slim

ARG PIP_EXTRA_INDEX_URL=""
ARG EXTRAS="serve,parquet"
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN PIP_CONSTRAINT=/src/constraints.txt PIP_BUILD_CONSTRAINT=/src/constraints.txt \
    python -m pip install --no-cache-dir --disable-pip-version-check ".[$EXTRAS]"

# Nothing runs as root. Files in /work belong to whom `docker run --user` names.
RUN useradd --create-home pignn
USER pignn
ENV PIGNN_CACHE=/tmp/pignn-cache
WORKDIR /work
EXPOSE 8000
ENTRYPOINT ["pignn"]
CMD ["--help"]
