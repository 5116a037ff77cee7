"""The command line: ``dpnotes epsilon`` states a guarantee, ``dpnotes figures`` lists the book's figures and
``dpnotes figure NAME -o FILE`` writes one.

The same as ``python -m dpnotes``.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from dpnotes import __version__, figures
from dpnotes._validate import fail
from dpnotes.accountants._command import add_parser as add_epsilon
from dpnotes.figures import FigureSpec, _style

# Widths in inches: the text or column width that each venue's own style file sets.
VENUES = {
    "neurips": 5.5,          # neurips.sty: textwidth 5.5 in
    "icml-column": 3.25,     # icml.sty: two columns of 3.25 in, 0.25 in apart
    "icml-text": 6.75,
    "ieee-column": 3.5,      # IEEEtran.cls: columnwidth 21 pc
    "ieee-text": 7.16,       # IEEEtran.cls: textwidth 43 pc
    "usenix-column": 3.33,   # usenix.sty: two columns in 7 in, 0.33 in apart
    "usenix-text": 7.0,
    "acm-column": 3.33,      # acmart.cls, sigconf: columnwidth 240 pt
    "acm-text": 7.0,
    "a4-text": 6.3,          # A4 with margins of 2.5 cm
}


def export(spec: FigureSpec, target: Path, parameters: dict[str, Any], *, width: float | None = None,
           theme: str = "paper") -> None:
    """Write a figure (PDF, SVG, PNG) or its numbers (CSV), by the suffix of `target`. The file is whole or not there."""
    suffix = target.suffix.lower().lstrip(".")
    if suffix not in (*_style.FORMATS, "csv"):
        raise fail("FILE", str(target), f"a name that ends in .{', .'.join((*_style.FORMATS, 'csv'))}")
    buffer = io.BytesIO()
    if suffix == "csv":
        buffer.write(table(spec, parameters).encode())
    else:
        _style.save(spec.draw(width=width, theme=theme, **parameters), buffer, suffix)
    _write(target, buffer.getvalue())


def table(spec: FigureSpec, parameters: dict[str, Any]) -> str:
    """What the figure draws, in long form: series, x, y, each number with all its digits."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["series", "x", "y"])
    for series, columns in spec.data(**parameters).items():
        pairs = zip(columns["x"], columns["y"], strict=True)
        rows.writerows([series, repr(x), repr(y)] for x, y in pairs if x == x and y == y)  # NaN is a gap in a line
    return text.getvalue()


def command(spec: FigureSpec, target: str, parameters: dict[str, Any]) -> str:
    """The line that makes this figure again."""
    changed = [f"{key}={value!r}" for key, value in parameters.items() if value != spec.defaults[key]]
    return shlex.join(["dpnotes", "figure", spec.name, "-o", target, *(["--set", *changed] if changed else [])])


def bibtex(spec: FigureSpec) -> str:
    """An entry to cite the figure by."""
    return (f"@misc{{dpnotes-{spec.name},\n  author = {{{{The dpnotes authors}}}},\n"
            "  title  = {Differential privacy, one random variable at a time},\n"
            f"  note   = {{Figure \\texttt{{{spec.name}}} of chapter {spec.chapter}, dpnotes {__version__}, CC BY 4.0}}\n}}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when all went well. A wrong argument is one line on stderr and exit status 2."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except ValueError as error:
        return _complain(str(error))
    except BrokenPipeError:  # the reader of our output has seen enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'FILE'}: {error.strerror or error}")


def _list(_: argparse.Namespace) -> int:
    for spec in figures.all_figures().values():
        print(f"{spec.chapter:>2}  {spec.name:<32}  {spec.caption}")
    return 0


def _figure(options: argparse.Namespace) -> int:
    spec = figures.get(options.name)
    parameters = _parameters(spec, options.set)
    if options.output is None and options.data is None:
        print(_about(spec, parameters))
        return 0
    if options.data is not None and options.data.suffix.lower() != ".csv":
        raise fail("--data", str(options.data), "a name that ends in .csv")
    if options.output is not None:  # first, since more can be wrong with it: nothing is written when anything is
        if options.output.suffix.lower().lstrip(".") not in _style.FORMATS:
            raise fail("--output", str(options.output), f"a name that ends in .{', .'.join(_style.FORMATS)}")
        export(spec, options.output, parameters, width=_width(options.width), theme=options.theme)
    if options.data is not None:
        export(spec, options.data, parameters)
    return 0


def _about(spec: FigureSpec, parameters: dict[str, Any]) -> str:
    inches = " x ".join(f"{side:g}" for side in spec.size)
    lines = [spec.name, "", f"Caption     {spec.caption}", f"Alt text    {spec.alt}",
             f"Chapter     {spec.chapter}, source figure {spec.source}", f"Size        {inches} inches", "Parameters"]
    for key, value in parameters.items():
        slider = spec.sliders.get(key)
        span = f", from {slider.low:g} to {slider.high:g}" if slider else ""
        lines.append(f"  {key} = {value!r}{span}")
    widths = ", ".join(f"{venue} {inches:g}" for venue, inches in VENUES.items())
    return "\n".join([*lines, f"Widths      {widths} (inches)", f"To write    {command(spec, spec.name + '.pdf', parameters)}",
                      "", bibtex(spec)])


def _parameters(spec: FigureSpec, settings: Sequence[str]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise fail("--set", setting, "of the form parameter=value")
        parameters[key] = _value(spec, key, text)
    return spec.parameters(**parameters)


def _value(spec: FigureSpec, key: str, text: str) -> Any:
    default = spec.defaults.get(key)
    if key in spec.defaults and isinstance(default, (int, float)) and not isinstance(default, bool):
        try:
            return float(text)
        except ValueError:
            raise fail(f"--set {key}", text, "a number") from None
    return text


def _width(text: str | None) -> float | None:
    if text is None or text in VENUES:
        return VENUES.get(text) if text else None
    try:
        return float(text)
    except ValueError:
        raise fail("--width", text, f"a number of inches or one of {', '.join(VENUES)}") from None


def _write(target: Path, content: bytes) -> None:
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".dpnotes-")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        try:
            Path(temporary).replace(target)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(target)) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _complain(message: str) -> int:
    print(f"dpnotes: {' '.join(message.split())}", file=sys.stderr)
    return 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:  # argparse's own adds the usage: here an error is one line
        self.exit(_complain(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dpnotes", description="An honest epsilon, and the figures of the book, ready for a paper.")
    parser.add_argument("--version", action="version", version=f"dpnotes {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_epsilon(commands)
    commands.add_parser("figures", help="list every figure").set_defaults(run=_list)
    one = commands.add_parser("figure", help="write a figure to a file, or say what it is")
    one.set_defaults(run=_figure)
    one.add_argument("name", metavar="NAME", help="as `dpnotes figures` lists it")
    one.add_argument("-o", "--output", type=Path, metavar="FILE", help="a .pdf, .svg or .png file to write")
    one.add_argument("--data", type=Path, metavar="FILE.csv", help="also write the numbers behind the figure")
    one.add_argument("--width", metavar="WIDTH", help=f"inches, or one of {', '.join(VENUES)}")
    one.add_argument("--set", nargs="+", action="extend", default=[], metavar="PARAMETER=VALUE", help="as in --set epsilon=1.0")
    one.add_argument("--theme", choices=("paper", "screen"), default="paper", help="type sizes for print or for a page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
