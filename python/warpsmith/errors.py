"""What can go wrong, as exceptions."""


class WarpsmithError(Exception):
    """The base of all errors of this package."""


class ArgumentError(WarpsmithError, ValueError):
    """An argument that can not be; `argument` is its name."""

    argument: "str | None" = None


class CompileError(WarpsmithError, RuntimeError):
    """A kernel that does not compile."""


class DeviceError(WarpsmithError, RuntimeError):
    """A device that is not there, refused, or is lost."""


class SanitizerError(WarpsmithError, RuntimeError):
    """What the emulator found wrong with a kernel's run; `findings` has each in words."""

    findings: "tuple[str, ...]" = ()


class SanitizerWarning(UserWarning):
    """What the emulator found right, but slow or suspicious."""
