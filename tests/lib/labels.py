"""Labels of programs, which say what must be found in them, read and judged: tests/labelled, tests/gpu/labelled.

A label is (sort, kinds, places). Sorts: `finds` a problem that must be named, `hazard` likewise a hazard, `normal` a finding that must
be there and is no problem, `may` what may be said or not. KIND and PLACE may leave open which of several it is: `a|b`. A kind may
be a word of tests/labelled/words, which stands for the kinds behind it."""
import os
import re

WORDS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "labelled/words")
SORT = r"(finds|hazard|normal|may)(?: on a (GPU))?: ([\w|-]+)"


def words():
    """{word: kinds}"""
    if not os.path.exists(WORDS):
        return {}
    with open(WORDS) as file:
        lines = (line.split("#")[0].partition(":") for line in file)
        return {word.strip(): kinds.split() for word, colon, kinds in lines if colon}


def kinds_of(text):
    known = words()
    return frozenset(kind for word in text.split("|") for kind in known.get(word, [word]))


def of_c(source, on_gpu):
    return {(sort, kinds_of(kinds), frozenset(places.split("|")))
            for sort, only, kinds, places in re.findall(r"\* %s in ([\w|]+)" % SORT, source) if on_gpu or not only}


def of_python(source):
    return {(sort, kinds_of(kinds), frozenset([number])) for number, line in enumerate(source.split("\n"), 1)
            for sort, _, kinds in re.findall("# " + SORT, line)}


def fits(label, finding):
    sort, kind, place = finding
    return (kind in label[1] and place in label[2] and
            sort in {"finds": ("finds", "hazard"), "hazard": ("hazard",), "normal": ("normal",), "may": ("finds", "hazard")}[label[0]])


def judge(labels, found):
    """What is wrong, in lines; found: {(sort, kind, place)}, where a sort is finds, normal or hazard."""
    missed = [label for label in labels if label[0] != "may" and not any(fits(label, finding) for finding in found)]
    false = [finding for finding in found if finding[0] != "normal" and not any(fits(label, finding) for label in labels)]
    return (sorted("missed: %s %s in %s" % (sort, "|".join(sorted(kinds)), "|".join(map(str, sorted(places))))
                   for sort, kinds, places in missed) +
            sorted("false: %s %s in %s" % finding for finding in false))
