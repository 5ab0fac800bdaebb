"""Checks that the client takes the calls of the samples in the OpenAPI document: `samples.py FILE`, a JSON object of them by operation.

Prints what is wrong with each as a JSON object, and the keywords of Python. test/sdk/python.test.ts runs it.
"""

import ast
import inspect
import json
import keyword
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from assay import Assay  # noqa: E402

CLIENT = Assay(api_key="assay_live_test")


def called(function):
    """The function or method that an expression such as `assay.keys.list` names."""
    names = ast.unparse(function).split(".")
    found = {"Assay": Assay, "assay": CLIENT}[names[0]]
    for name in names[1:]:
        found = getattr(found, name)
    return found


def check(source):
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    own = [node for node in calls if ast.unparse(node.func).split(".")[0] in ("Assay", "assay")]
    assert len(own) == 2, "the sample does not make a client and call it"
    for node in own:
        arguments = [ast.unparse(argument) for argument in node.args]
        inspect.signature(called(node.func)).bind(*arguments, **{item.arg: item.value for item in node.keywords})


wrong = {}
for operation, source in json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")).items():
    try:
        check(source)
    except (AssertionError, AttributeError, SyntaxError, TypeError) as error:
        wrong[operation] = str(error)
print(json.dumps({"wrong": wrong, "keywords": keyword.kwlist}))
