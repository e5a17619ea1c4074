"""The C header of the compiled core: where arrays lie, and what its entries take.

It follows from the declarations of arrays (handles) and of entries (their annotations), and is
written beside the library when that is built.
"""

from __future__ import annotations

from dynenvs.jit.compiled import Entry, units
from dynenvs.jit.kinds import ArrayKind, HandleKind, Kind, Number, TupleKind
from dynenvs.memory.origin import KINDS, this
from dynenvs.memory.records import HEADER

_BEGIN = """\
/* The compiled core of dynenvs {version}, for C: made by `python -m dynenvs.jit.build`.

   An entry takes the place of a word, the place of a pointer (both are its own), and its arguments,
   whose last ones are its result; it returns 0.  An array is an address and its lengths, a handle
   the addresses of its buffers.  See docs/c.md. */

#ifndef DYNENVS_H
#define DYNENVS_H

#include <stdint.h>

#define DYNENVS_LAYOUT "{layout}"
#define DYNENVS_HEADER {header} /* bytes of the header that begins a model */
#define DYNENVS_TEXT(words) #words
#define DYNENVS_QUOTED(words) DYNENVS_TEXT(words)
#define DYNENVS_SYMBOL(name) __asm__(DYNENVS_QUOTED(__USER_LABEL_PREFIX__) name)

#ifdef __cplusplus
extern "C" {{
#endif

/* The layout of which the library was made: a packed model must have the same. */
extern const char *dynenvs_layout(void);
/* 1 if this processor has what the library was compiled for. */
extern int dynenvs_runs_here(void);

/* A count of a model, and an array of a world: DYNENVS_ARRAY(model, state, StateView_q). */
#define DYNENVS_COUNT(model, name) (*(int64_t *)((char *)(model) + DYNENVS_COUNT_##name))
#define DYNENVS_ARRAY(model, buffer, name) \\
  ((void *)((char *)(buffer) + *(int64_t *)((char *)(model) + DYNENVS_PLACE_##name)))
"""
_END = """
#ifdef __cplusplus
}
#endif
#endif
"""
_TYPES = {"q": "int64_t ", "Q": "uint64_t ", "d": "double ", "?": "int64_t "}


def c_header() -> str:
    """The header for all kernels that are imported."""
    here = this()
    # What a program checks before it trusts the rest
    lines = [_BEGIN.format(**here._asdict(), header=HEADER.itemsize)]
    # Counts of a model, by their places in its header
    for name in HEADER.names or ():
        if HEADER[name] == "i8":
            lines.append(f"#define DYNENVS_COUNT_{name} {_offset(name)}")
    lines.append("")
    # Arrays by their places, and what they hold as a comment
    for kind in KINDS:
        lines.append(f"/* {kind.__name__}: {(kind.__doc__ or '').splitlines()[0]} */")
        for entry in vars(kind).values():
            if hasattr(entry, "number"):
                place = _offset("places") + 8 * entry.number
                what = f"{entry.buffer}, {' x '.join(entry.shape)}: {entry.what}"
                name = f"{kind.__name__}_{entry.name}"
                lines.append(f"#define DYNENVS_PLACE_{name} {place} /* {what} */")
    # Entries that Python calls, C may call as well
    found = (unit for unit in units.values() if isinstance(unit, Entry) and unit.is_ours)
    for unit in sorted(found, key=lambda unit: unit.name):
        lines += ["", *_declared(unit)]
    return "\n".join(lines) + "\n" + _END


def _offset(field: str) -> int:
    fields = HEADER.fields
    assert fields is not None
    return int(fields[field][1])


def _declared(unit: Entry) -> list[str]:
    """An entry and the struct of its arguments."""
    name = unit.name.replace(".", "_")
    words = []
    for argument, kind in unit.named_kinds.items():
        words += _words(argument, kind)
    if unit.result is not None:
        words += _words("result", unit.result)
    body = " ".join(f"{word};" for word in words) or "char nothing;"
    return [
        f"/* {(unit.__doc__ or '').partition(chr(10))[0]} */",
        f"struct {name} {{ {body} }};",
        f"extern int32_t {name}(int64_t *, void **, struct {name} *)",
        f'  DYNENVS_SYMBOL("{unit.name}.code");',
    ]


def _words(name: str, kind: Kind) -> list[str]:
    """The members that stand for an argument, of 8 bytes each."""
    if isinstance(kind, Number):
        return [f"{_TYPES[kind.letter]}{name}"]
    if isinstance(kind, HandleKind):
        return [f"void *{name}_{buffer}" for buffer in kind.handle.buffers]
    if isinstance(kind, ArrayKind):
        return [f"void *{name}", *(f"int64_t {name}_length{k}" for k in range(kind.dimensions))]
    if isinstance(kind, TupleKind):
        names = getattr(kind.names, "_fields", range(len(kind.entries)))
        parts = zip(names, kind.entries, strict=True)
        return [word for part, entry in parts for word in _words(f"{name}_{part}", entry)]
    return [f"void *{name}"]
