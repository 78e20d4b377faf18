"""Compiling the parts of kernels: LLVM code that is optimised, and made machine code, only there.

Numba compiles every function as if Python might call it: it adds wrappers for that, optimises the
code and makes machine code of it; and then does it all again within each function that calls it.
Helpers, and the bodies of generics, are called by kernels only. Without that work the first run
takes half the time and memory.
"""

import functools
import gc
from collections.abc import Callable
from typing import Any

import numba._dynfunc
from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import AnnotateTypes, NativeLowering

_dynfunc: Any = numba._dynfunc  # noqa: SLF001  (Numba has no public way)
_NUMBERS = (types.Number, types.Boolean, types.Literal)
_ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba begins the names of functions' globals in LLVM code


class _Part(JITCodeLibrary):
    """The LLVM code of a helper and of those that it calls."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=False)
class _BeginPart(LoweringPass):
    _name = "dwindle_begin_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Ask for LLVM code only, without wrappers."""
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _EndPart(LoweringPass):
    _name = "dwindle_end_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Let other functions find the LLVM code, under an entry that Python never calls."""
        lowered, library = state["cr"], state.library
        module = lowered.fndesc.lookup_module()
        name = state.func_id.func_name
        entry = _dynfunc.make_function(module, name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(entry, lowered.fndesc, [library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _LinkParts(LoweringPass):
    _name = "dwindle_link_parts"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Tell a kernel's machine code where the globals of its parts are."""
        for variable in state.library._final_module.global_variables:  # noqa: SLF001  (likewise)
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    state.library.codegen.set_env(variable.name, environment)
        return True


class _Typing:
    """Numba's typing context, which here remembers what operators on numbers return.

    Numba asks some ten candidates for each operator of each expression, again and again.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, keywords: Any) -> Any:
        """Return the signature of a call."""
        if keywords or not all(isinstance(each, _NUMBERS) for each in args):
            return self._context.resolve_function_type(function, args, keywords)
        call = function, tuple(args)
        if call not in self._known:
            found = self._context.resolve_function_type(function, args, keywords)
            if not isinstance(function, types.Function) or found is None:
                return found
            self._known[call] = found
        return self._known[call]


_typing = functools.cache(_Typing)


class _Compiler(CompilerBase):
    def __init__(self, typing_context: Any, *args: Any) -> None:
        super().__init__(_typing(typing_context), *args)

    def compile_extra(self, function: Any) -> Any:
        """Compile without looking for garbage, of which there is little."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if was_enabled:
                gc.enable()


class PartCompiler(_Compiler):
    """Numba's compiler for what only kernels call."""

    def define_pipelines(self) -> list[Any]:
        """List Numba's passes, and ours around the one that makes LLVM code."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_BeginPart, AnnotateTypes)
        passes.add_pass_after(_EndPart, NativeLowering)
        passes.finalize()
        return [passes]


class KernelCompiler(_Compiler):
    """Numba's compiler for what Python calls."""

    def define_pipelines(self) -> list[Any]:
        """List Numba's passes, and ours after the one that makes machine code."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_LinkParts, NativeLowering)
        passes.finalize()
        return [passes]


def part(function: Callable[..., Any], **options: Any) -> Any:
    """Make a function for kernels to call, compiled once for all values of a type.

    Numba would compile it for the literal 0 with which a loop begins, and then once more for the
    integers that follow.
    """
    made: Any = njit(error_model="numpy", nogil=True, pipeline_class=PartCompiler, **options)(
        function
    )
    template: Callable[..., Any] = made.get_call_template

    def call_template(args: Any, keywords: Any) -> Any:
        return template(tuple(map(types.unliteral, args)), keywords)

    def add_overload(result: Any) -> None:
        made.overloads[tuple(result.signature.args)] = result  # and no entry for Python

    made.get_call_template, made.add_overload = call_template, add_overload
    return made
