"""Results of other measurement programs: the JSON of iperf3 and the data files of Flent, as inputs
of ``diff`` and ``report``.
"""

from ackclock.other_programs.model import ProgramTest
from ackclock.other_programs.read import PROGRAMS, read_program_test, sniffed

__all__ = ["PROGRAMS", "ProgramTest", "read_program_test", "sniffed"]
