"""VW text: the kernel reads what the reference reads, and nothing past the end."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dwindle.data.formats.vw import parser as vw
from helpers import reference_parsers as reference
from helpers.vw_lines import block, check, everything, namespaces, numbers, parse

INTERACTIONS = (("f", "g"), ("f", "f"), ("", "f"), ("g", "f", "g"), ("f", "f", "f"), ("", "g", "ü"))


@given(everything, st.sampled_from([1, 7]))
@example(b"\xef\xbb\xbf1 | a", 1)
@example(b"\xef\xbb\xbf1 | a", 7)
@example(b"1 | a\r\n\r\n1 | b\r", 1)
@example(b"1 | :0 :2 x :3 |f :4 :0 | :5\n", 1)
def test_the_kernel_reads_what_the_reference_reads(data, line):
    check(data, line)


@given(everything)
@example(b"1 |f a:2 b |g c |f d:1e-30 |g e:1e-30 | x\n")
@example(b"1 |f a:1e30 |g b:1e30\n1 |f a:1e20 |g b\n")
def test_products_of_namespaces_are_those_of_the_reference(data):
    check(data, interactions=INTERACTIONS)


@given(everything, st.frozensets(st.sampled_from(["", "f", "g", "h", "\udcff"])))
def test_ignored_namespaces_are_checked_and_left_out(data, ignore):
    check(data, ignore=ignore, interactions=INTERACTIONS[:2])


@pytest.mark.slow
@given(everything, st.integers(0, 60))
def test_lines_are_read_alike_wherever_the_text_is_cut_into_blocks(data, at):
    at = data.find(b"\n", at) + 1
    one, rest = block(data[:at]), block(data[at:], 1 + data[:at].count(b"\n"))
    assume(rest.line > 1)
    parts = vw.parse(one), vw.parse(rest)
    whole = vw.parse(block(data))
    assert whole.bad == parts[0].bad + parts[1].bad
    assert whole.line.tolist() == [line for part in parts for line in part.line]
    assert list(whole.batch.names) == [name for part in parts for name in part.batch.names]
    assert whole.batch.x.tolist() == [x for part in parts for x in part.batch.x]


long_names = st.sampled_from(["a", "b:0", "c:0.5", "12", "d:1e-7", "e:red", "n" * 20, "w" * 3000])


@given(st.lists(st.tuples(namespaces, st.lists(long_names, max_size=9)), max_size=9), st.data())
def test_long_lines_with_many_namespaces_and_long_names_are_read_like_others(sections, data):
    line = "".join(f" |{name} {' '.join(features)}" for name, features in sections)
    line = "1" + line * data.draw(st.sampled_from([1, 20]))
    other = data.draw(st.sampled_from(["1 |f a |g b", "2 |g a:0 |f b", "1 2 'tag |f a |g:2 b", ""]))
    text = "\n".join(data.draw(st.permutations([line, line, other, other])))
    check(text.encode(), ignore={"g"})


def test_an_empty_block_has_no_examples():
    check(b"")
    check(b"\xef\xbb\xbf")


# Numbers


@given(numbers)
@example("16777217")
@example("16777217.000000000000000001")
@example("16777216.999999999999999999")
@example("1.00000005960464477539062500000")
@example("1.00000005960464477539062500001")
@example("340282356779733661637539395458142568447")
@example("340282356779733661637539395458142568448")
@example("340282356779733661637539395458142568447.9999")
@example(
    "7.00649232162408535461864791644958065640130970938257885878534141944895541342930300743319e-46"
)
@example("0" * 400 + "1" + "0" * 400 + "e-400")
@example("." + "0" * 400 + "1e401")
@example("1e99999999999999999999999")
@example("1e-99999999999999999999999")
@example("0e99999999999999999999999")
@example("9007199254740993e22")
@example("18446744073709551616")
@example("." + "9" * 60)
def test_a_number_is_what_python_reads_rounded_to_single_precision(text):
    parsed = parse(f"{text} | a:{text}\n")
    try:
        expected = reference.single(text)
    except ValueError:
        assert parsed.batch.n_examples == 0
        return
    if not np.isfinite(expected):
        assert "too large for single precision" in parsed.bad[0].message
        return
    assert parsed.batch.label.tobytes() == expected.tobytes()
    assert parsed.batch.x.tolist() == ([expected] if expected else [])


@given(st.floats(2.0**-140, 2.0**120, width=32), st.sampled_from([0, 1, -1, 10, -10]), st.data())
def test_numbers_beside_the_middle_of_two_singles_are_rounded_as_python_rounds_them(low, off, data):
    """Where the kernel cannot be sure: 25 digits around (low + high) / 2, which is exact in double."""
    middle = (float(low) + float(np.nextafter(low, np.float32(np.inf)))) / 2
    beside = data.draw(
        st.sampled_from([middle, np.nextafter(middle, 0), np.nextafter(middle, 1e99)])
    )
    mantissa, power = f"{beside:.24e}".split("e")
    text = f"{int(mantissa.replace('.', '')) + off}e{int(power) - 24}"
    check(f"{text} {text} | a:{text} b |f:{text} c\n".encode())


@pytest.mark.slow
def test_many_numbers_that_the_kernel_is_not_sure_of_cost_one_more_walk(monkeypatch):
    walks = []
    read = vw.read
    monkeypatch.setattr(vw, "read", lambda *args: walks.append(1) or read(*args))
    unsure = "1.00000005960464477539062500001"
    check((f"1 | a b:{unsure}" + f" c:{unsure}" * 500 + "\n").encode() * 50)
    assert len(walks) == 2 * 2  # `check` reads twice


# Memory and machine code


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="protects a page as Linux does")
def test_nothing_is_read_past_the_end_of_the_data():
    """The data ends where a page begins that must not be touched: a read there kills the process."""
    script = """
        import ctypes, mmap
        import numpy as np
        from dwindle.data.formats import svmlight
        from dwindle.data.formats.vw import parser as vw
        from dwindle.data.formats.block import Block

        page = mmap.PAGESIZE
        memory = np.frombuffer(mmap.mmap(-1, 2 * page), np.uint8)
        address = ctypes.c_void_p(memory.ctypes.data + page)
        assert ctypes.CDLL(None).mprotect(address, page, 0) == 0  # PROT_NONE
        for line in (b"1 2 3 'tag|f:2 abcdefgh:1.5e-3 12:345678 ab:cdefghijk :7 |g:1e5 h",
                     b"1 qid:3 1:2 18446744073709551614:1.5e-3 # comment", b"-inf |f:nan infinity:inf"):
            for n in range(len(line) + 1):
                for text in (line[:n], b"1 |f " + line[:n], b"1 " + line[n:], line[:n] + b"\\r"):
                    data = memory[page - len(text) : page]
                    data[:] = list(text)
                    vw.parse(Block(data, "data"), interactions=(("f", "g"),))
                    svmlight.parse(Block(data, "data"))
        for n in range(100, 300):  # lines that are read the quick way end at each place before it
            text = b"1 |f a:1 b\\n" * 40 + b"1 |ffffffff " + b"word:0.25 " * 30
            text = text[: 440 + n]
            data = memory[page - len(text) : page]
            data[:] = list(text)
            vw.parse(Block(data, "data"))
        print("alive")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert run.stdout == "alive\n", run.stderr[-2000:]


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_features_are_not_reference_counted(tmp_path):
    script = """
        import re, sys
        import numpy as np
        from dwindle.data.text import scan
        from dwindle.data.formats import svmlight
        from dwindle.data.formats.vw import parser as vw
        from dwindle.data.formats.block import Block

        for raw in (b"1 |f a\\n", bytearray(b"1 |f a\\n")):  # read-only, and not
            data = np.frombuffer(raw, np.uint8)
            vw.parse(Block(data, "data"), interactions=(("f", "f"),))
            svmlight.parse(Block(data, "data"))
        if not sys.argv[1:]:
            assert "numba" not in sys.modules  # so there is nothing that could compile
        else:
            kernels = [kernel.of() for kernel in (scan._counts, vw.read, svmlight._read)]
            assert all(len(kernel.signatures) == 1 for kernel in kernels)
            for kernel in kernels:
                assert sum(kernel.stats.cache_misses.values()) == 1
                for ir in kernel.inspect_llvm().values():
                    for body in re.split("^define ", ir, flags=re.MULTILINE)[1:]:
                        if "feature" in body.partition("(")[0] or "number" in body.partition("(")[0]:
                            assert "call void @NRT_incref" not in body
    """

    def run(*args):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), *args],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr[-2000:]

    run("inspect")
    run()
