"""Checks documents of YAML against the schema of a resource of Kubernetes. A field that the schema does not have is an
error, because a server of Kubernetes drops it."""

import sys

import jsonschema
import yaml


def strict(schema):
    """Returns the schema without room for unknown fields, but in metadata, which is Kubernetes's own."""
    if not isinstance(schema, dict):
        return schema
    out = {key: strict(value) if key in ("items", "additionalProperties") else value for key, value in schema.items()}
    if "properties" in schema:
        out["properties"] = {name: strict(one) for name, one in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            out.setdefault("additionalProperties", False)
    return out


definition, documents = sys.argv[1:]
with open(definition) as file:
    crd = yaml.safe_load(file)
versions = {crd["spec"]["group"] + "/" + v["name"]: v["schema"]["openAPIV3Schema"] for v in crd["spec"]["versions"]}
with open(documents) as file:
    objects = list(yaml.safe_load_all(file))
mistakes = 0 if objects else 1
for one in objects:
    if one.get("kind") != crd["spec"]["names"]["kind"] or one.get("apiVersion") not in versions:
        print(f"{documents}: {one.get('apiVersion')} {one.get('kind')} is not of {definition}")
        mistakes += 1
        continue
    for e in jsonschema.Draft202012Validator(strict(versions[one["apiVersion"]])).iter_errors(one):
        print(f"{documents}: {one['metadata']['name']}: {e.json_path}: {e.message}")
        mistakes += 1
print(f"{documents}: {len(objects)} objects, {mistakes} mistakes")
sys.exit(mistakes != 0)
