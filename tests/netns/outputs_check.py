#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Judges what tools print for other programs.

usage: outputs_check.py schema SCHEMA FILE [PATH=VALUE]...  FILE is one JSON document, in ASCII, that fits the schema;
                                                  PATH (keys and indices with dots) leads to that value, as in JSON
       outputs_check.py openmetrics FILE BOARDS   FILE is OpenMetrics, and the older text of Prometheus, of so many boards
       outputs_check.py dashboard FILE DASHBOARD  metrics and labels of the dashboard's queries are in FILE
       outputs_check.py csv CSV JSON              rows of either form of omx_perf have the same names
       outputs_check.py selftest SCHEMA-FOLDER    schemas are schemas, and refuse what they should

Ends with 0, or with a sentence. Needs python3-jsonschema and python3-prometheus-client.
"""
import csv
import json
import pathlib
import re
import sys


def refuse_twice(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key stands twice: {keys}")
    return dict(pairs)


def document(path):
    with open(path, encoding="ascii") as file:
        text = file.read()
    if not text.endswith("}\n"):
        sys.exit(f"{path}: the last line does not end: {text[-20:]!r}")
    return json.loads(text, object_pairs_hook=refuse_twice)


def validator(path):
    import jsonschema
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def errors(judge, value):
    """Sentences, of the form that fits best."""
    found = []
    for error in judge.iter_errors(value):
        parts = sorted(error.context, key=lambda e: len(e.absolute_path), reverse=True) or [error]
        found += [f"{part.json_path}: {part.message[:200]}" for part in parts[:3]]
    return found


def check_schema(schema, path, *wanted):
    value = document(path)
    for sentence in errors(validator(schema), value):
        sys.exit(sentence)
    for text in wanted:
        place, _, expected = text.partition("=")
        at = value
        for key in place.split("."):
            at = at[int(key)] if isinstance(at, list) else at[key]
        if at != json.loads(expected):
            sys.exit(f"{place} is {at!r}, not {expected}")


def check_openmetrics(path, boards):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
    from prometheus_client.parser import text_string_to_metric_families as older
    text = pathlib.Path(path).read_text(encoding="ascii")
    for parser in (openmetrics, older):
        families = {family.name: family for family in parser(text)}
        for name in ("ethermx_packets_received", "ethermx_packets_dropped", "ethermx_board_link_up"):
            if name not in families:
                sys.exit(f"{parser.__module__}: no {name}")
        of_boards = {s.labels["board"] for f in families.values() for s in f.samples if "board" in s.labels}
        if of_boards != {str(i) for i in range(int(boards))}:
            sys.exit(f"boards are {of_boards}")
        if parser is openmetrics:
            bad = [f.name for f in families.values() if f.type not in ("counter", "gauge") or not f.documentation]
            if bad or families["ethermx_board_mtu_bytes"].unit != "bytes":
                sys.exit(f"type, help or unit: {bad}")


def samples(path):
    """{metric: names of its labels}"""
    found = {}
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        match = re.match(r"(ethermx_\w+)\{(.*)\} ", line)
        if match:
            found.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2]))
    return found


def queries(value):
    if isinstance(value, dict):
        for key, its in value.items():
            if key in ("expr", "query", "definition") and isinstance(its, str) and its != "prometheus":
                yield its
            else:
                yield from queries(its)
    elif isinstance(value, list):
        for its in value:
            yield from queries(its)


def check_dashboard(path, dashboard):
    known = samples(path)
    asked = list(queries(json.loads(pathlib.Path(dashboard).read_text(encoding="utf-8"))))
    if len(asked) < 8:
        sys.exit(f"only {len(asked)} queries")
    labels = set().union(*known.values()) | {"instance", "job"}
    for query in asked:
        for name in re.findall(r"ethermx_\w+", query):
            if name not in known:
                sys.exit(f"{query}: the tool has no {name}")
        if "ethermx_" not in query:
            sys.exit(f"{query}: asks for nothing of ours")
        named = re.findall(r"(\w+)\s*=~?\s*\"", query) + [
            label.strip() for part in re.findall(r"(?:by|on|group_left)\s*\(([^)]*)\)", query) for label in part.split(",")]
        for label in named:
            if label and label not in labels:
                sys.exit(f"{query}: the tool has no label {label}")
    print(len(asked), "queries")


def check_csv(table, path):
    whole = document(path)
    with open(table, encoding="ascii", newline="") as file:
        columns = csv.DictReader(file).fieldnames
    facts = [name for name in ("version", "date", "device", "interface", "dialect", "mtu") if name in whole]
    names = [name for name in whole["rows"][0] if name != "histogram"] + facts
    if columns != names or len(facts) != 6:
        sys.exit(f"CSV has {columns}\nJSON has {names}")


def objects(part):
    if isinstance(part, dict):
        if part.get("type") == "object":
            yield part
        for each in part.values():
            yield from objects(each)
    elif isinstance(part, list):
        for each in part:
            yield from objects(each)


def selftest(folder):
    """Each schema takes a failure, and refuses it once a member is missing, added or of another type."""
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        judge = validator(path)
        tool = judge.schema["$defs"]["failure"]["properties"]["tool"]["const"]
        good = {"tool": tool, "version": "0.1.0", "schema_version": 1, "error": "because"}
        bad = [dict(good, tool="another"), dict(good, more=1), dict(good, error=1), dict(good, schema_version=2)]
        bad += [{k: v for k, v in good.items() if k != gone} for gone in good]
        if errors(judge, good) or not all(errors(judge, each) for each in bad):
            sys.exit(f"{path}: {errors(judge, good)}")
        for part in objects(judge.schema["$defs"]):
            if part.get("additionalProperties", True) is True:
                sys.exit(f"{path}: an object takes any member: {list(part['properties'])}")


def main():
    does = {"schema": check_schema, "openmetrics": check_openmetrics, "dashboard": check_dashboard, "csv": check_csv,
            "selftest": selftest}
    if len(sys.argv) < 3 or sys.argv[1] not in does:
        sys.exit(__doc__)
    does[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
