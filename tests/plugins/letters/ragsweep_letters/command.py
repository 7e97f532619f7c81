"""Count the letters of a text.

ragsweep letters "Iron for two?"
"""

from ragsweep.app.commands import parser_of


def main() -> int:
    """Print the number."""
    parser = parser_of("letters", __doc__)
    parser.add_argument("text")
    print(sum(map(str.isalpha, parser.parse_args().text)), "letters")
    return 0
