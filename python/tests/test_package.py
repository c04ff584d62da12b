"""The package itself."""

import ast
import inspect
import pathlib
import subprocess
import sys
import threading
import time

import warpsmith
from warpsmith import _native


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_imports_no_array_library():
    loaded = run("import sys, warpsmith; print(*[m for m in ('torch', 'numpy', 'jax', 'cupy') if m in sys.modules])")
    assert loaded.strip() == ""


def test_the_stub_says_what_there_is():
    stub = ast.parse((pathlib.Path(warpsmith.__file__).parent / "_native.pyi").read_text(encoding="utf-8"))
    functions = {n.name: n for n in stub.body if isinstance(n, ast.FunctionDef)}
    classes = {n.name: n for n in stub.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")}
    public = {n for n in dir(_native) if not n.startswith("_")}
    assert public == set(functions) | set(classes)
    for name, node in functions.items():
        signature = inspect.signature(getattr(_native, name))
        assert list(signature.parameters) == [a.arg for a in node.args.args], name
        defaults = [p.default for p in signature.parameters.values() if p.default is not p.empty]
        assert defaults == [ast.literal_eval(d) for d in node.args.defaults], name
        assert getattr(_native, name).__doc__
    for name, node in classes.items():
        methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        for method in methods:
            assert hasattr(getattr(_native, name), method), method
        made = getattr(_native, name)
        assert {m for m in vars(made) if not m.startswith("_")} <= methods, name


def test_versions_agree():
    assert warpsmith.version == warpsmith.__version__ == _native.__version__


def test_the_documentation_s_examples():
    import doctest

    for module in (warpsmith, warpsmith.functions):
        assert doctest.testmod(module).failed == 0


def test_other_threads_go_on_while_a_kernel_is_compiled():
    # The emulator runs for some time; a thread that needs the interpreter counts meanwhile.
    import numpy as np

    counted, over = 0, threading.Event()

    def count():
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0)  # lets others have the interpreter

    thread = threading.Thread(target=count)
    old = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread.start()
        warpsmith.softmax(np.ones((64, 1000), np.float32), device="emulated")
        seen = counted
    finally:
        over.set()
        sys.setswitchinterval(old)
        thread.join()
    assert seen > 0
