"""Runs a model's transformer in bf16, in ONNX Runtime or in OpenVINO. Its other modules stay in torch and fp32.

The backends of sentence-transformers need optimum, which does not accept the version of transformers that we use. So
the transformer is exported here, once, by torch's own exporter, to an ONNX model that both runtimes can read.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ragsweep.core.digest import version
from ragsweep.core.errors import EncoderError, first_line
from ragsweep.store.stage_store import Arrays, Store

Backend = Literal["torch", "onnx", "openvino"]
Precision = Literal["fp32", "bf16", "int8"]
Run = Callable[[Mapping[str, npt.NDArray[np.int64]]], npt.NDArray[np.float32]]

PRECISIONS = {"torch": ("fp32", "bf16"), "onnx": ("fp32", "int8"), "openvino": ("fp32", "bf16", "int8")}
EXPORTER = ("torch", "transformers", "sentence-transformers", "onnx", "onnxscript")
RUNTIMES = {"onnx": ("onnxruntime",), "openvino": ("openvino", "nncf")}
EXAMPLES = ("word", "A sentence of a few words.", "An export that has frozen a length is found out here. " * 9)
LEAST_COSINE = {"fp32": 0.9999, "bf16": 0.99, "int8": 0.9}  # between the embeddings of torch and those of the export


def packages(backend: Backend) -> tuple[str, ...]:
    """The packages that a backend needs besides torch.

    Raises:
        EncoderError: One of them is not installed.
    """
    if backend == "torch":
        return ()
    needed = ("onnx", "onnxscript", *RUNTIMES[backend])
    missing = ", ".join(name for name in needed if find_spec(name) is None)
    if missing:
        raise EncoderError(
            f"encoder.backend: {backend} needs {missing}, not installed here; run pip install 'ragsweep[{backend}]'"
        )
    return needed


def run_in(backend: Backend, precision: Precision, model: Any, files: str, store: Store) -> None:
    """Have a runtime compute the transformer of a sentence-transformers model.

    Args:
        backend: The runtime.
        precision: Of weights and arithmetic; the transformer's output is fp32.
        model: A `SentenceTransformer`, on the CPU unless the runtime is torch; changed in place.
        files: Digest of the model's files.
        store: Keeps the export.

    Raises:
        EncoderError: The model cannot be exported, or its export gives other embeddings.
    """
    transformer = model[0]
    setting = f"encoder.precision: {precision}" if backend == "torch" else f"encoder.backend: {backend}"
    try:
        if type(transformer).__name__ != "Transformer":
            raise TypeError(f"its first module is a {type(transformer).__name__}, not a Transformer")
        expected = model.encode(list(EXAMPLES), batch_size=1, normalize_embeddings=True)
        if backend == "torch":
            _in_bf16(transformer)
        elif backend == "onnx":
            transformer.forward = _forward(*_in_onnxruntime(_onnx_model(transformer, precision, files, store)))
        else:
            onnx_model = _onnx_model(transformer, "fp32", files, store)
            transformer.forward = _forward(*_in_openvino(onnx_model, precision))
        found = model.encode(list(EXAMPLES), batch_size=1, normalize_embeddings=True)
    except Exception as error:  # exporters and runtimes raise exceptions of any type
        reason = first_line(error)
        raise EncoderError(f"{setting} cannot run this model ({reason}); torch fp32 can") from error
    cosine = float((expected * found).sum(axis=1).min())
    if cosine < LEAST_COSINE[precision]:
        raise EncoderError(f"{setting} computes this model wrongly (cosine {cosine:.3f}); torch fp32 can")


def _in_bf16(transformer: Any) -> None:
    import torch

    transformer.to(torch.bfloat16)
    transformer.register_forward_hook(
        lambda _module, _inputs, features: features | {"token_embeddings": features["token_embeddings"].float()}
    )


def _forward(run: Run, names: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    import torch

    def forward(features: dict[str, Any], **_: Any) -> dict[str, Any]:
        vectors = run({name: features[name].numpy() for name in names})
        return features | {"token_embeddings": torch.from_numpy(vectors)}

    return forward


def _onnx_model(transformer: Any, precision: Precision, files: str, store: Store) -> bytes:
    def build() -> Arrays:
        if precision == "int8":
            made = _quantised(_onnx_model(transformer, "fp32", files, store))
        else:
            made = _exported(transformer)
        return {"model": np.frombuffer(made, dtype=np.uint8)}

    makers = (*EXPORTER, "onnxruntime") if precision == "int8" else EXPORTER
    libraries = [version(name) for name in makers]
    kept: bytes = store.get("onnx", [files, precision, libraries], build)["model"].tobytes()
    return kept


def _exported(transformer: Any) -> bytes:
    """The transformer as an ONNX model that takes one text with any number of tokens."""
    import torch

    features = transformer.preprocess([EXAMPLES[1]])
    names = [name for name, value in features.items() if isinstance(value, torch.Tensor)]

    class TokenEmbeddings(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
            embeddings: torch.Tensor = self.transformer(dict(zip(names, tensors, strict=True)))["token_embeddings"]
            return embeddings

    tokens = ({1: torch.export.Dim.DYNAMIC},) * len(names)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            TokenEmbeddings().eval(),
            tuple(features[name] for name in names),
            input_names=names,
            dynamic_shapes=(tokens,),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    made: bytes = program.model_proto.SerializeToString()
    return made


def _quantised(onnx_model: bytes) -> bytes:
    """The model with int8 weights and dynamically quantised activations."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    graph = onnx.load_from_string(onnx_model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        logging.disable(logging.WARNING)  # its advice is about static quantisation
        try:
            # 7 of 8 bits, since sums of full int8 overflow on CPUs without VNNI
            quantize_dynamic(graph, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
        finally:
            logging.disable(logging.NOTSET)
        return path.read_bytes()


def _in_onnxruntime(onnx_model: bytes) -> tuple[Run, tuple[str, ...]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # several texts are computed at the same time
    session = onnxruntime.InferenceSession(onnx_model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(inputs))[0], tuple(node.name for node in session.get_inputs())


def _in_openvino(onnx_model: bytes, precision: Precision) -> tuple[Run, tuple[str, ...]]:
    import openvino
    import torch

    core, requests = openvino.Core(), threading.local()
    graph = core.read_model(onnx_model)
    if precision == "int8":
        import nncf

        nncf.set_log_level(logging.ERROR)
        with redirect_stdout(sys.stderr):  # it draws a bar
            graph = nncf.compress_weights(graph, mode=nncf.CompressWeightsMode.INT8_SYM)
    threads = torch.get_num_threads()
    settings = {
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",  # else it uses bf16 if the CPU has it
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": threads,  # a thread a text
    }
    compiled = core.compile_model(graph, "CPU", settings)

    def run(inputs: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
        if not hasattr(requests, "own"):
            requests.own = compiled.create_infer_request()
        vectors: npt.NDArray[np.float32] = requests.own.infer(dict(inputs))[0].copy()
        return vectors

    return run, tuple(node.any_name for node in compiled.inputs)
