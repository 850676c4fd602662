"""Reads protocol buffers without their description: by field number, numbers as integers, the rest as bytes."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def fields(data):
    """{field: [values]}; raises where the bytes are no message."""
    found = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        else:
            raise ValueError("wire type %d" % (tag & 7))
        found.setdefault(tag >> 3, []).append(value)
    return found


def numbers(data):
    """A packed list."""
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values
