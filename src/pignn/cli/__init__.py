"""The command line. Nothing here imports torch before a command needs it, so that help is there at once."""

from __future__ import annotations

import os
import sys
import warnings

from ..errors import PignnError, PignnWarning


def main(arguments: list[str] | None = None) -> None:
    """Run a command. A user's mistake is one line on stderr and exit code 2; Ctrl-C is exit code 130."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    import typer

    from .app import app

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", PignnWarning)
    warnings.showwarning = _note
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="pignn", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except PignnError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        print("pignn: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone: nothing to complain about
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _fail("out of memory; a smaller graph, or fewer programs beside this one, would help")
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}")
    except Exception as error:
        if hasattr(error, "format_message"):  # how click, vendored or not, says that a flag is wrong
            return _fail(f"{error.format_message()} (see pignn --help)")
        if isinstance(error, RuntimeError) and "allocate memory" in str(error):  # torch's way of saying so
            return _fail("out of memory; a smaller graph, or fewer programs beside this one, would help")
        raise


def _fail(message: str) -> int:
    print(f"pignn: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _note(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, PignnWarning):
        print(f"note: {message}", file=sys.stderr)
