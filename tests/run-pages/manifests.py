#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Checks manifests of Kubernetes against the models of Debian's python3-kubernetes.

    manifests.py FILE...            prints "FILE: KIND NAME" for each, or what is wrong, and then ends with status 1
    manifests.py --value FILE KIND PATH
                                    prints a value of it, such as spec.containers.0.command; the words of a list

A field must be one that its model has, of its type and among the values that the model allows; those that are required
must be there. Networks of Multus have no model: the plugin that their configuration names judges it (kubernetes.sh).
"""

import json
import re
import sys

import yaml

MODELS = {('v1', 'Namespace'): 'V1Namespace', ('v1', 'Pod'): 'V1Pod', ('apps/v1', 'DaemonSet'): 'V1DaemonSet',
          ('batch/v1', 'Job'): 'V1Job'}
NETWORK = ('k8s.cni.cncf.io/v1', 'NetworkAttachmentDefinition')
SIMPLE = {'str': str, 'int': int, 'bool': bool, 'float': (int, float), 'datetime': str}


class Wrong(Exception):
    """A manifest that Kubernetes would not take."""


def build(kind, value, where):
    """The value as the client has it; raises Wrong with the path of what is not so."""
    items = re.fullmatch(r'list\[(.+)\]', kind)
    entries = re.fullmatch(r'dict\(str, (.+)\)', kind)
    if items:
        if not isinstance(value, list):
            raise Wrong(f'{where}: a list is needed')
        return [build(items[1], one, f'{where}[{number}]') for number, one in enumerate(value)]
    if entries:
        if not isinstance(value, dict):
            raise Wrong(f'{where}: a map is needed')
        return {name: build(entries[1], one, f'{where}.{name}') for name, one in value.items()}
    if kind == 'object':
        return value
    if kind in SIMPLE:
        if not isinstance(value, SIMPLE[kind]) or (kind == 'int' and isinstance(value, bool)):
            raise Wrong(f'{where}: {value!r} is no {kind}')
        return value
    from kubernetes import client # which takes seconds to load
    return build_model(getattr(client, kind), value, where)


def build_model(model, value, where):
    """An object of a model."""
    if not isinstance(value, dict):
        raise Wrong(f'{where}: a map is needed')
    names = {told: name for name, told in model.attribute_map.items()}
    for told in value:
        if told not in names:
            raise Wrong(f'{where}.{told}: {model.__name__} has no such field; there are {", ".join(sorted(names))}')
    fields = {names[told]: build(model.openapi_types[names[told]], one, f'{where}.{told}') for told, one in value.items()}
    try:
        return model(**fields)
    except ValueError as error:
        raise Wrong(f'{where}: {error}') from error


def check_pod(pod, where):
    """Raises Wrong for a volume that is mounted and does not exist, which the models do not see."""
    volumes = {volume.name for volume in pod.volumes or []}
    for container in pod.containers:
        for mount in container.volume_mounts or []:
            if mount.name not in volumes:
                raise Wrong(f'{where}: {container.name} mounts {mount.name}, which is no volume of the pod')


def check(document):
    """One manifest."""
    kind = (document.get('apiVersion'), document.get('kind'))
    if kind == NETWORK:
        json.loads(document['spec']['config'])
        return
    if kind not in MODELS:
        raise Wrong(f'{kind}: no kind that is known here')
    built = build(MODELS[kind], document, kind[1])
    if kind[1] == 'Pod':
        check_pod(built.spec, 'Pod')
    if kind[1] == 'DaemonSet':
        check_pod(built.spec.template.spec, 'DaemonSet')
        labels = built.spec.template.metadata.labels
        if not built.spec.selector.match_labels.items() <= labels.items():
            raise Wrong('DaemonSet: the selector does not match the labels of its pods')


def documents(name):
    """All manifests of a file."""
    with open(name, encoding='utf-8') as file:
        return [document for document in yaml.safe_load_all(file) if document]


def main(names):
    """Checks files."""
    status = 0
    for name in names:
        for document in documents(name):
            try:
                check(document)
                print(f'{name}: {document["kind"]} {document["metadata"]["name"]}')
            except (Wrong, ValueError, KeyError, TypeError) as error:
                print(f'{name}: {error}')
                status = 1
    return status


def print_value(name, kind, path):
    """Prints one value of a manifest."""
    value = next(one for one in documents(name) if one['kind'] == kind)
    for key in path.split('.'):
        value = value[int(key)] if isinstance(value, list) else value[key]
    print(*value if isinstance(value, list) else [value])


if __name__ == '__main__':
    if sys.argv[1] == '--value':
        print_value(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
