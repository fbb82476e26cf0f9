"""What keeps this machine from counting fruit, line by line, with the mend."""

from edgekit.doctor.examine import CHECKS, examine
from edgekit.doctor.finding import Finding
from edgekit.doctor.probes import Answer, Probes
from edgekit.doctor.question import Question

__all__ = ["CHECKS", "Answer", "Finding", "Probes", "Question", "examine"]
