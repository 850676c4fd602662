"""The part of JSON Schema that report/schema.json uses. check() returns the first mistake as a sentence, or None."""

import re

KNOWN = {"$schema", "$defs", "$ref", "title", "type", "const", "enum", "anyOf", "pattern", "minimum", "maximum", "items",
         "properties", "required", "additionalProperties"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}


def _is(value, name):
    return isinstance(value, TYPES[name]) and not isinstance(value, bool)


def check(value, schema, root, where="$"):
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError("the checker does not know %s" % sorted(unknown))
    if "$ref" in schema:
        return check(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, where)
    if "const" in schema and value != schema["const"]:
        return "%s is not %r" % (where, schema["const"])
    if "enum" in schema and value not in schema["enum"]:
        return "%s: %r is none of %s" % (where, value, schema["enum"])
    if "anyOf" in schema and all(check(value, one, root, where) for one in schema["anyOf"]):
        return "%s fits nothing of anyOf" % where
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, name) for name in types):
        return "%s is a %s, not %s" % (where, type(value).__name__, types)
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return "%s: %r does not match" % (where, value)
    if "minimum" in schema and value < schema["minimum"]:
        return "%s: %r is too small" % (where, value)
    if "maximum" in schema and value > schema["maximum"]:
        return "%s: %r is too large" % (where, value)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            wrong = check(item, schema["items"], root, "%s[%d]" % (where, index))
            if wrong:
                return wrong
    if isinstance(value, dict):
        return _check_object(value, schema, root, where)
    return None


def _check_object(value, schema, root, where):
    for key in schema.get("required", []):
        if key not in value:
            return "%s has no %s" % (where, key)
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties", {})
    for key, item in value.items():
        one = properties.get(key, rest)
        if one is False:
            return "%s has an unknown key %s" % (where, key)
        wrong = check(item, one, root, "%s.%s" % (where, key))
        if wrong:
            return wrong
    return None
