"""The command line. Nothing here imports torch before a command needs it, so that help is there at once."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import warnings
from types import FrameType

from ..core.errors import PignnError, PignnWarning, is_out_of_memory
from .usage_hints import add_usage_hint, check_no_option_is_empty


class Stopped(KeyboardInterrupt):
    """A signal ended the command; ``code`` is what a shell calls that."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def main(arguments: list[str] | None = None) -> None:
    """Run a command. A user's mistake is one line on stderr and exit code 2; Ctrl-C is exit code 130."""
    signal.signal(signal.SIGTERM, _raise_stopped)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter is no reason to fail
            stream.reconfigure(errors="replace")
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code. What goes wrong is printed to stderr."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", PignnWarning)
            warnings.showwarning = _print_own_warning_as_note
            check_no_option_is_empty(arguments)
            return _run_command_and_get_exit_code(arguments)
    except PignnError as error:
        return _print_error_and_get_exit_code(str(error))
    except KeyboardInterrupt as error:
        notes = map(_replace_arguments_by_options, getattr(error, "__notes__", []))
        print("; ".join(["pignn: interrupted", *notes]), file=sys.stderr)
        return error.code if isinstance(error, Stopped) else 128 + signal.SIGINT
    except BrokenPipeError:  # the reader of our output has gone: nothing to complain about
        _redirect_stdout_to_devnull()
        return 0
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:
            _redirect_stdout_to_devnull()
        return _print_error_and_get_exit_code(
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        )
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command, whose help it brings
            print(error)
            return 0
        if hasattr(error, "format_message"):  # how click, vendored or not, says that a flag is wrong
            command = getattr(getattr(error, "ctx", None), "command_path", "pignn")
            message = add_usage_hint(error.format_message().strip().rstrip("."), arguments)
            return _print_error_and_get_exit_code(f"{message} (see {command} --help)")
        if is_out_of_memory(error):
            return _print_error_and_get_exit_code(
                "out of memory; a smaller graph, or fewer programs beside this one, would help"
            )
        raise


def _run_command_and_get_exit_code(arguments: list[str]) -> int:
    import typer

    from .app import app

    # Not command.main(): it keeps Ctrl-C and a closed pipe to itself.
    command = typer.main.get_command(app)
    try:
        with command.make_context("pignn", arguments or ["--help"]) as context:
            code = command.invoke(context)
    except typer.Exit as leave:  # --help, --version
        code = leave.exit_code
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _redirect_stdout_to_devnull() -> None:
    """Discard what could not be written: Python would try again at its end, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# How messages of the library name arguments that are options here.
ARGUMENT = re.compile(
    r"\b(resume|force|report|new_class)=True\b|\b(nodes|edges|label|id|out|split_index|known)=(?![\w(\[)])"
)


def _replace_arguments_by_options(message: object) -> str:
    """A message of the library, in which ``resume=True`` becomes ``--resume``."""
    return ARGUMENT.sub(lambda match: f"--{(match[1] or match[2]).replace('_', '-')}", str(message))


def _print_error_and_get_exit_code(message: str) -> int:
    print(f"pignn: {' '.join(_replace_arguments_by_options(message).split())}", file=sys.stderr)
    return 2


def _print_own_warning_as_note(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, PignnWarning):
        print(f"note: {_replace_arguments_by_options(message)}", file=sys.stderr)


def _raise_stopped(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
