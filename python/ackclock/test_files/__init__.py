"""Results of other measurement programs: the JSON of iperf3 and the data files of Flent, as inputs
of ``diff`` and ``report``.
"""

from ackclock.test_files.model import TestFile
from ackclock.test_files.read import PROGRAMS, read_test_file, sniffed

__all__ = ["PROGRAMS", "TestFile", "read_test_file", "sniffed"]
