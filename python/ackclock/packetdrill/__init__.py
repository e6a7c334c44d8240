"""packetdrill scripts against a host stack of the engine."""

from ackclock.packetdrill.run import ScriptResult, Verdict, run_script, scripts_in

__all__ = ["ScriptResult", "Verdict", "run_script", "scripts_in"]
