"""packetdrill scripts against a host stack of the engine."""

from ackclock.packetdrill.run import IGNORED, Ignored, ScriptResult, Verdict, run_script, run_scripts, scripts_in

__all__ = ["IGNORED", "Ignored", "ScriptResult", "Verdict", "run_script", "run_scripts", "scripts_in"]
