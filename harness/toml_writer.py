"""Configuration files from Python values: dictionaries are tables, lists of them [[tables]]."""

import json


def _value(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON's strings, numbers and booleans are TOML's as well.
    return json.dumps(value)


def _is_nested(value):
    return isinstance(value, dict) or (isinstance(value, list) and value
                                       and all(isinstance(each, dict) for each in value))


def _table(name, heading, table):
    lines = [heading] + [f"{key} = {_value(value)}" for key, value in table.items()
                         if not _is_nested(value)]
    nested = [_tables(f"{name}.{key}", value) for key, value in table.items() if _is_nested(value)]
    return "\n".join(lines) + "\n" + "".join(nested)


def _tables(name, value):
    if isinstance(value, dict):
        return _table(name, f"[{name}]", value)
    return "".join(_table(name, f"[[{name}]]", element) for element in value)


def to_toml(document):
    return "\n".join(_tables(name, value) for name, value in document.items())


def merged(defaults, changes):
    """`defaults` with the keys of `changes` put in, table by table; None takes a key out. One table
    over a list of them goes over each."""
    result = dict(defaults)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        elif isinstance(value, dict) and isinstance(result.get(key), list):
            result[key] = [merged(each, value) for each in result[key]]
        else:
            result[key] = value
    return result
