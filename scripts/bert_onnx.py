"""Writes a BERT encoder or classifier as an ONNX graph from its weights, using only `onnx` and numpy.

`weights` contains arrays under the names in Hugging Face's BertModel
(`embeddings.word_embeddings.weight`, `encoder.layer.0.attention.self.query.weight` …), with
`pooler.dense` and `classifier` for a classifier.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 9


class Graph:
    """Nodes and initializers, with numbered names."""

    def __init__(self):
        self.nodes, self.initializers, self.count = [], [], 0

    def node(self, op, inputs, **attributes):
        self.count += 1
        output = f"{op.lower()}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, array, name=None):
        self.count += 1
        name = name or f"constant_{self.count}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def linear(self, x, weights, name):
        """x · Wᵀ + b, with the weight stored as MatMul requires."""
        product = self.node("MatMul", [x, self.constant(weights[f"{name}.weight"].T, f"{name}.weight")])
        return self.node("Add", [product, self.constant(weights[f"{name}.bias"], f"{name}.bias")])

    def layer_norm(self, x, weights, name, epsilon):
        scale = self.constant(weights[f"{name}.weight"], f"{name}.weight")
        bias = self.constant(weights[f"{name}.bias"], f"{name}.bias")
        return self.node("LayerNormalization", [x, scale, bias], axis=-1, epsilon=epsilon)

    def gelu(self, x):
        half = self.node("Mul", [x, self.constant(np.float32(0.5))])
        scaled = self.node("Div", [x, self.constant(np.float32(np.sqrt(2.0)))])
        one_more = self.node("Add", [self.node("Erf", [scaled]), self.constant(np.float32(1.0))])
        return self.node("Mul", [half, one_more])


def embed(g, weights, config, token_types):
    """Word, position and (if the graph takes them) token type embeddings, normalised."""
    name = "embeddings."
    word = g.constant(weights[f"{name}word_embeddings.weight"], f"{name}word")
    x = g.node("Gather", [word, "input_ids"])
    length = g.node("Slice", [g.node("Shape", ["input_ids"]), g.constant(np.array([1])), g.constant(np.array([2]))])
    positions = g.constant(weights[f"{name}position_embeddings.weight"], f"{name}position")
    x = g.node("Add", [x, g.node("Slice", [positions, g.constant(np.array([0])), length, g.constant(np.array([0]))])])
    types = weights[f"{name}token_type_embeddings.weight"]
    if token_types:
        x = g.node("Add", [x, g.node("Gather", [g.constant(types, f"{name}token_type"), "token_type_ids"])])
    else:
        x = g.node("Add", [x, g.constant(types[0])])
    return g.layer_norm(x, weights, f"{name}LayerNorm", config["layer_norm_eps"])


def attention(g, x, bias, weights, name, heads, width):
    """Multi-head self-attention with its residual connection, before the norm."""
    shape = g.constant(np.array([0, 0, heads, width]))
    back = g.constant(np.array([0, 0, heads * width]))

    def split(part, order):
        projected = g.linear(x, weights, f"{name}.self.{part}")
        return g.node("Transpose", [g.node("Reshape", [projected, shape])], perm=order)

    query, value = split("query", [0, 2, 1, 3]), split("value", [0, 2, 1, 3])
    scores = g.node("MatMul", [query, split("key", [0, 2, 3, 1])])
    scaled = g.node("Div", [scores, g.constant(np.float32(np.sqrt(width)))])
    weighted = g.node("Softmax", [g.node("Add", [scaled, bias])], axis=-1)
    mixed = g.node("Transpose", [g.node("MatMul", [weighted, value])], perm=[0, 2, 1, 3])
    return g.node("Add", [x, g.linear(g.node("Reshape", [mixed, back]), weights, f"{name}.output.dense")])


def encoder(weights, config, token_types=True, sentence_output=False):
    """The ONNX model: token ids in, `last_hidden_state` (or its mean, `sentence_embedding`) out."""
    g = Graph()
    x, mask = hidden_states(g, weights, config, token_types)
    if not sentence_output:
        return model_of(g, x, "last_hidden_state", ["batch", "tokens", config["hidden_size"]], token_types)
    column = g.node("Unsqueeze", [mask, g.constant(np.array([2]))])
    axes = g.constant(np.array([1]))
    total = g.node("ReduceSum", [g.node("Mul", [x, column]), axes], keepdims=0)
    mean = g.node("Div", [total, g.node("ReduceSum", [column, axes], keepdims=0)])
    return model_of(g, mean, "sentence_embedding", ["batch", config["hidden_size"]], token_types)


def classifier(weights, config, token_types=True, output="logits"):
    """The ONNX model of BertForSequenceClassification: token ids in, one score per class out."""
    g = Graph()
    x, _ = hidden_states(g, weights, config, token_types)
    first = g.node("Squeeze", [g.node("Gather", [x, g.constant(np.array([0]))], axis=1), g.constant(np.array([1]))])
    pooled = g.node("Tanh", [g.linear(first, weights, "pooler.dense")])
    classes = weights["classifier.bias"].shape[0]
    return model_of(g, g.linear(pooled, weights, "classifier"), output, ["batch", classes], token_types)


def hidden_states(g, weights, config, token_types):
    """The token vectors after the last layer, and the mask as floats."""
    heads = config["num_attention_heads"]
    width = config["hidden_size"] // heads
    epsilon = config["layer_norm_eps"]
    mask = g.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    wide = g.node("Unsqueeze", [mask, g.constant(np.array([1, 2]))])
    absent = g.node("Sub", [g.constant(np.float32(1.0)), wide])
    bias = g.node("Mul", [absent, g.constant(np.float32(np.finfo(np.float32).min))])
    x = embed(g, weights, config, token_types)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        x = attention(g, x, bias, weights, f"{name}.attention", heads, width)
        x = g.layer_norm(x, weights, f"{name}.attention.output.LayerNorm", epsilon)
        inner = g.gelu(g.linear(x, weights, f"{name}.intermediate.dense"))
        x = g.node("Add", [x, g.linear(inner, weights, f"{name}.output.dense")])
        x = g.layer_norm(x, weights, f"{name}.output.LayerNorm", epsilon)
    return x, mask


def model_of(g, output, name, shape, token_types):
    """Completes the graph with its inputs and its one output."""
    g.nodes.append(helper.make_node("Identity", [output], [name], name=name))
    inputs = ["input_ids", "attention_mask"] + (["token_type_ids"] if token_types else [])
    graph = helper.make_graph(
        g.nodes,
        "bert",
        [helper.make_tensor_value_info(i, TensorProto.INT64, ["batch", "tokens"]) for i in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
        g.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model
