"""Configuration files from Python values: dictionaries are tables, lists of them [[tables]]."""

import json


def _value(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON's strings, numbers and booleans are TOML's as well.
    return json.dumps(value)


def _table(name, heading, table):
    lines = [heading]
    nested = []
    for key, value in table.items():
        if isinstance(value, dict):
            nested.append((f"{name}.{key}", value))
        else:
            lines.append(f"{key} = {_value(value)}")
    text = "\n".join(lines) + "\n"
    return text + "".join(_table(inner, f"[{inner}]", value) for inner, value in nested)


def to_toml(document):
    parts = []
    for name, value in document.items():
        if isinstance(value, dict):
            parts.append(_table(name, f"[{name}]", value))
        else:
            parts += [_table(name, f"[[{name}]]", element) for element in value]
    return "\n".join(parts)


def merged(defaults, changes):
    """`defaults` with the keys of `changes` put in, table by table; None takes a key out."""
    result = dict(defaults)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
