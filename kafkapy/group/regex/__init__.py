"""Regular expressions over topic names that no pattern can stall the node with.

    parse.py    text in RE2's syntax -> nodes; what is not regular is refused
    program.py  nodes -> a program of bounded size (Thompson)
    matcher.py  a DFA built as it is used: one table look-up per character of a name

Python's `re` backtracks: `(a+)+$` on a name of 40 letters takes it years. Here time is
the length of the name, space is bounded, and the answers are those of RE2J, which Apache
Kafka uses (KIP-848): the whole name has to match.
"""

from kafkapy.group.regex.matcher import InvalidRegex, TopicRegex, compile_regex

__all__ = ["InvalidRegex", "TopicRegex", "compile_regex"]
