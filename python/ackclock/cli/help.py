"""The help of the command line: commands in groups, options in panels, an example at the end."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

MANY = 11
"""Options above which a command's help has panels."""
OUTPUT = "Output"
RUN = "How it is run"
PANELS: dict[str, dict[str, tuple[str, ...]]] = {
    "compare": {
        "Judgement": ("--goal", "--may-harm", "--rank-by", "--prices", "--measured"),
        "What is compared": (
            "--variants",
            "--transports",
            "--buffers",
            "--delayed-ack",
            "--queue",
            "--ack-policy",
            "--ack",
            "--host",
        ),
        "Load": ("--flows", "--opposite", "--direction", "--duration", "--seeds", "--seed", "--quick"),
    },
    "simulate": {
        "What is simulated": ("--household", "--from", "--run", "--seed"),
        "Captures": ("--pcap", "--pcap-format", "--pcap-offloads", "--qlog"),
    },
    "sweep": {"A part of a sweep": ("--part", "--collect", "--estimate", "--seed")},
    "hunt": {"The search": ("--runs", "--minutes", "--search", "--seed", "--verify")},
    "analyze": {
        "Which packets": ("--flow", "--filter", "--since", "--until", "--strip"),
        "What is found": ("--congestion-control", "--timeline", "--follow"),
        "Clocks": ("--pps", "--synchronized", "--seed"),
    },
    "reproduce": {"What is run": ("--quick", "--full", "--live", "--on", "--apps", "--seed")},
    "serve": {
        "Address and access": ("--listen", "--port", "--token-file", "--new-token", "--user", "--log"),
        "Limits": ("--most-rate", "--most-bytes", "--most-sessions", "--allow-capture"),
        "STAMP": ("--stamp-port", "--stamp-key-file", "--stamp-open", "--clock-shift"),
    },
    "measure": {
        "Tests": ("--tests", "--direction", "--duration", "--quick", "--plan", "--max-bytes"),
        "TCP": ("--congestion", "--buffers", "--flows", "--sizes", "--steps", "--alternate", "--offset"),
        "The far end": ("--port", "--token-file", "--stamp", "--stamp-port", "--stamp-key-file"),
        "Again, at intervals": ("--every", "--times", "--label"),
        "Captures and clocks": ("--capture", "--capture-far", "--pps"),
    },
    "advise": {"What may change": ("--goal", "--may", "--may-harm", "--direction", "--verify", "--seed")},
    "emulate": {
        "What runs behind the link": ("--server", "--server-ready", "--beside", "--seconds", "--internet"),
        "Ends": ("--clients", "--pair", "--name", "--hostname"),
        "Exactness": ("--require", "--retry", "--deadline", "--log", "--seed"),
    },
}
"""Panels of the commands with many options, in the order of their help. The options of every
command follow in panels of their own.
"""
_OF_EVERY_COMMAND = {
    RUN: ("--workers", "--dask", "--series"),
    OUTPUT: ("--all", "--out", "--force", "--report", "--json", "--quiet", "--help"),
}
_COMPLETION = ("--install-completion", "--show-completion")
GROUPS = ("Every day", "On a live path", "Research")


def name_of(parameter: Any) -> str:
    """The long name of an option."""
    return str(max(parameter.opts, key=len))


def panel_of(command: str, option: str) -> str:
    """The title of the panel that has an option of a command; "Options" for none."""
    panels = {**PANELS[command], **_OF_EVERY_COMMAND} if command in PANELS else {}
    return next((title for title, options in panels.items() if option in options), "Options")


_TYPES = {
    "str": "TEXT",
    "list[str]": "TEXT",
    "path": "PATH",
    "int": "N",
    "int range": "N",
    "float": "X",
    "float range": "X",
}
_TYPE = re.compile(rf" <({'|'.join(map(re.escape, _TYPES))})>")


def record_of(parameter: Any, context: Any) -> tuple[str, str] | None:
    """An option or an argument and its meaning as help lists them, with a word in the place of a
    Python type; None for a hidden one. What an argument is, its name says.
    """
    record = parameter.get_help_record(context)
    if record is None or parameter.param_type_name != "argument":
        return record and (_TYPE.sub(lambda found: f" {_TYPES[found[1]]}", record[0]), record[1])
    return argument_name(parameter), record[1]


def argument_name(parameter: Any) -> str:
    """An argument as usage has it: LINK, [CAPTURE2], RUN..."""
    name = str(parameter.metavar or parameter.name.upper()).strip("[].")
    name += "..." if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


class Command(TyperCommand):
    """A command whose help has panels where it has many options, and ends with an example, which is
    its epilog.
    """

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The options, then the arguments by their names."""
        arguments = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        return ["[OPTIONS]", *map(argument_name, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the panels."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        panels |= {title: [] for title in (*PANELS.get(self.name or "", ()), *_OF_EVERY_COMMAND)}
        for parameter in self.get_params(ctx):
            if (record := record_of(parameter, ctx)) is None:
                continue
            is_argument = parameter.param_type_name == "argument"
            panels["Arguments" if is_argument else panel_of(self.name or "", name_of(parameter))].append(record)
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example."""
        if self.epilog:
            with formatter.section("Example"):
                formatter.write(f"  {self.epilog}\n")


class Commands(TyperGroup):
    """The commands in their groups, each with a whole sentence."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the few options."""
        for title in GROUPS:
            commands = [(name, command) for name, command in self.commands.items() if command.rich_help_panel == title]  # type: ignore[attr-defined]
            with formatter.section(title):
                formatter.write_dl([(name, command.short_help or "") for name, command in commands], col_max=12)
        records = [
            record
            for parameter in self.get_params(ctx)
            if name_of(parameter) not in _COMPLETION and (record := parameter.get_help_record(ctx))
        ]
        records.insert(-1, ("--install-completion SHELL", "Complete words in bash, zsh, fish or PowerShell."))
        with formatter.section("Options"):
            formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what is useful first."""
        with formatter.section("Example"):
            formatter.write(f"  {self.epilog}\n")
