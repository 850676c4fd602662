"""TAP of a list of functions, for the tests of this folder: each holds unless it raises; what it returns is said behind its name."""


def run(tests):
    """The status to exit with."""
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            remark = test()
            print(f"ok {number} - {name}" + (f" # {remark}" if remark else ""))
        except Exception as failure:
            failed += 1
            print(f"not ok {number} - {name}\n# {type(failure).__name__}: {failure}")
    return int(failed > 0)
