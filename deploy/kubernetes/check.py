"""Checks what kustomize built. Arguments: that file, and docs/OPERATIONS.md, which has all settings."""
import re, sys

import kubernetes_validate, yaml

NEWEST = kubernetes_validate.latest_version()
resources = [item for item in yaml.safe_load_all(open(sys.argv[1])) if item]
text = open(sys.argv[2]).read()
documented = set(re.findall(r"MARTLET_[A-Z0-9_]+", text))
documented |= {"MARTLET_" + key.upper().replace(".", "_") for key in re.findall(r"`([a-z0-9]+(?:\.[a-z0-9]+)+)`", text)}
problems = []


def named(kind):
    return {item["metadata"]["name"]: item for item in resources if item["kind"] == kind}


def check_schemas():
    for item in resources:
        name = f"{item['kind']} {item['metadata']['name']}"
        if item["apiVersion"].startswith("postgresql.cnpg.io/"):
            print(f"not checked: {name}, of a kind that its operator defines")
            continue
        try:
            kubernetes_validate.validate(item, NEWEST, strict=True)
        except kubernetes_validate.ValidationError as error:
            problems.append(f"{name}: {error.message} at {'.'.join(map(str, error.path))}")


def check_pods():
    secret_keys = {item["metadata"]["name"]: set(item["data"]) for item in named("Secret").values()}
    for name, item in {**named("Deployment"), **named("StatefulSet")}.items():
        spec = item["spec"]["template"]["spec"]
        container = spec["containers"][0]
        labels = item["spec"]["template"]["metadata"]["labels"]
        if not item["spec"]["selector"]["matchLabels"].items() <= labels.items():
            problems.append(f"{name}: the selector does not select its own pods")
        if "replicas" in item["spec"]:
            problems.append(f"{name}: must not set replicas, which the autoscaler does")
        if spec.get("enableServiceLinks") is not False:
            problems.append(f"{name}: enableServiceLinks must be false")
        volumes = {volume["name"] for volume in spec.get("volumes", [])}
        volumes |= {claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", [])}
        for mount in container["volumeMounts"]:
            if mount["name"] not in volumes:
                problems.append(f"{name}: there is no volume {mount['name']}")
        for variable in container["env"]:
            check_variable(name, variable["name"])
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if reference and reference["key"] not in secret_keys.get(reference["name"], set()):
                problems.append(f"{name}: there is no secret {reference}")
        for other in ("HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"):
            if name not in named(other):
                problems.append(f"{name} has no {other}")
        if name in named("Service"):
            check_service(name, named("Service")[name], labels, container)


def check_service(name, service, labels, container):
    if not service["spec"]["selector"].items() <= labels.items():
        problems.append(f"Service {name} selects no pod")
    ports = {port["name"] for port in container["ports"]}
    for port in service["spec"]["ports"]:
        if port["targetPort"] not in ports:
            problems.append(f"Service {name}: no port {port['targetPort']}")


def check_variable(where, name):
    if name.startswith("MARTLET_") and name not in documented:
        problems.append(f"{where}: {name} is not a setting")


def check_addresses():
    """Each address in the settings is that of a service, with its port."""
    services = {name: item["spec"]["ports"][0]["port"] for name, item in named("Service").items()}
    for name, value in named("ConfigMap")["martlet"]["data"].items():
        known = re.sub(r"_(AUTH|STORAGE|CONFIG|ANALYTICS|NOTIFICATIONS)$", "_AUTH", name)
        check_variable("settings", name if name in documented else known)
        address = re.fullmatch(r"(?:http://)?([a-z]+):(\d+)", value)
        if address and services.get(address[1]) != int(address[2]):
            problems.append(f"{name} is {value}, which is not the address of a service")


check_schemas()
check_pods()
check_addresses()
for problem in problems:
    print(problem, file=sys.stderr)
print(f"{len(resources)} resources for Kubernetes {NEWEST}, {len(problems)} problems")
sys.exit(1 if problems else 0)
