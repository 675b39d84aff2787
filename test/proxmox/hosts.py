#!/usr/bin/env python3
"""hosts.py DESCRIPTION: Proxmox hosts for Terraform's provider, on a port of loopback.

fakepve, a fake of Proxmox' API, gives logins, permissions, tasks, the schema of every call,
virtual machines and block storage. This program adds what it lacks, and what a module
could get wrong unnoticed without it:

- images of the content type Import: each host has its own, downloaded over HTTP, with
  checksum, and a disk that is imported from one has the image's size until it is resized;
- hardware mappings of PCI devices, which are compared with the host's devices at each start;
- bridges, which have to be on the host when a machine starts or gets a NIC;
- what root@pam alone may set, whatever a token may do;
- changes of a running machine: NICs come at once, the rest waits for a restart and is
  in what /config answers, as on Proxmox;
- a mapping takes its time to be made;
- the next free number of a machine, the cloud-init drive's name, numbers as numbers, and the
  slash at the end of the address by which the provider deletes a machine.

All of this is this program's word, not Proxmox' own code: what it refuses, and the words it
refuses with, follow Proxmox' documentation and sources as they were read.

DESCRIPTION is a JSON file: certificate, key, user, password, tokens (secrets by name), grants
(a list of user, path, privileges; ["*"] is all), storages, and hosts by name, each with bridges, numa_nodes
and devices (path, id, iommugroup, subsystem-id). It prints its port and runs until it is killed.
"""

import asyncio
import hashlib
import json
import re
import sys
import time

import aiohttp
from fakepve import FakePve
from fakepve.lxc import format_size
from fakepve.model import PveError, TaskError
from fakepve.qemu import DRIVE_KEY, join_drive, split_drive, with_mac
from fakepve.shapes import PRIVILEGES
from fakepve.server import USER, ok, params

# The options that Proxmox knows no privilege for.
ROOT_ALONE = ("affinity", "args", "hookscript", "hugepages", "keephugepages")
MIB = 1024 ** 2
CLOUD_INIT_BYTES = 4 * MIB
# So that a machine which does not wait for its mapping is found to be too early.
MAPPING_SECONDS = 1


def properties(text):
    """A property string such as id=8086:1572,node=pve1 by name; a part without a name has the name ''."""
    found = {}
    for part in str(text).split(","):
        name, equals, value = part.partition("=")
        found[name if equals else ""] = value if equals else name
    return found


def in_bytes(text):
    """A size of a disk, such as 32G."""
    number, unit = re.fullmatch(r"(\d+)([KMGT]?)", text).groups()
    return int(number) * 1024 ** " KMGT".index(unit or " ")


def refuse(message):
    """What Proxmox answers where its code dies."""
    return PveError(500, message)


class Hosts(FakePve):
    def __init__(self, description):
        super().__init__(user=description["user"], password=description["password"], host="127.0.0.1", port=0)
        self.hosts = description["hosts"]
        self.nodes = {name: {"online": True} for name in self.hosts}
        self.storages = {name: {"active": 1, "files": set(), "volumes": {}, **options}
                         for name, options in description["storages"].items()}
        self.apitokens = description["tokens"]
        for user, path, privileges in description["grants"]:
            self.grant(user, path, *(PRIVILEGES if privileges == ["*"] else privileges))
        self.mappings = {}
        # By host, if it is not shared, and storage: what was downloaded there, by name.
        self.imports = {}
        # What disks are imported from, as name and size, by machine and drive, while it is created.
        self.sources = {}

    # Routes. Whatever is named here is asked before fakepve's own.

    def _register_stateful(self, router, prefixes):
        for prefix in prefixes:
            machine = "/nodes/{node}/qemu/{vmid}"
            router.add_delete(f"{prefix}{machine}/", self._stateful_handler(machine, self._qm_destroy))
        super()._register_stateful(router, prefixes)

    def _routes_hosts(self):
        return [
            ("GET", "/cluster/mapping/pci", self._mapping_list), ("POST", "/cluster/mapping/pci", self._mapping_create),
            ("GET", "/cluster/mapping/pci/{id}", self._mapping_read), ("PUT", "/cluster/mapping/pci/{id}", self._mapping_update),
            ("DELETE", "/cluster/mapping/pci/{id}", self._mapping_delete),
            ("GET", "/cluster/nextid", self._next_id),
            ("GET", "/nodes/{node}/network", self._network_list),
            ("GET", "/nodes/{node}/query-url-metadata", self._url_metadata),
            ("PUT", "/nodes/{node}/qemu/{vmid}/resize", self._resize),
        ]

    # Hardware mappings.

    def _mapping(self, name):
        if name not in self.mappings:
            raise refuse(f"pci mapping '{name}' not found")
        return self.mappings[name]

    def _mapping_values(self, values):
        devices = values["map"] if isinstance(values["map"], list) else [values["map"]]
        # Proxmox writes each with its names in order.
        kept = {"map": [",".join(f"{name}={value}" for name, value in sorted(properties(device).items())) for device in devices]}
        if values.get("description"):
            kept["description"] = values["description"]
        return kept

    async def _mapping_list(self, _values, _user):
        return [{"id": name, "type": "pci", **mapping} for name, mapping in sorted(self.mappings.items())]

    async def _mapping_create(self, values, _user):
        await asyncio.sleep(MAPPING_SECONDS)
        if values["id"] in self.mappings:
            raise refuse(f"create pci mapping failed: pci ID '{values['id']}' already defined")
        self.mappings[values["id"]] = self._mapping_values(values)

    async def _mapping_read(self, values, _user):
        return {"type": "pci", **self._mapping(values["id"])}

    async def _mapping_update(self, values, _user):
        self._mapping(values["id"])
        self.mappings[values["id"]] = self._mapping_values(values)

    async def _mapping_delete(self, values, _user):
        self._mapping(values["id"])
        del self.mappings[values["id"]]

    # The cluster and its hosts.

    async def _next_id(self, values, _user):
        if values.get("vmid"):
            if self.vm(int(values["vmid"])):
                raise PveError(400, "Parameter verification failed.", {"vmid": f"VM {values['vmid']} already exists"})
            return str(values["vmid"])
        return str(next(number for number in range(100, 10000) if not self.vm(number)))

    async def _network_list(self, values, _user):
        return [{"iface": name, "type": "bridge", "active": 1, "autostart": 1, "method": "manual"}
                for name in self.hosts[values["node"]]["bridges"]]

    # Images of the content type Import.

    def _imported(self, node, storage):
        return self.imports.setdefault((None if self.storages[storage].get("shared") else node, storage), {})

    async def _fetch(self, url):
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            if answer.status != 200:
                raise refuse(f"download failed: {answer.status} {answer.reason}: {url}")
            return await answer.read()

    async def _url_metadata(self, values, _user):
        url = values["url"]
        size = len(await self._fetch(url))
        return {"filename": url.rsplit("/", 1)[-1], "mimetype": "application/octet-stream", "size": size}

    async def _download_url(self, request):
        values = self._verify(request, await params(request))
        if values["content"] != "import":
            return await super()._download_url(request)
        node, storage, user = values["node"], values["storage"], request[USER]
        self.require(user, f"/storage/{storage}", "Datastore.AllocateTemplate")
        if not (self.allowed(user, "/", "Sys.Audit") and self.allowed(user, "/", "Sys.Modify")):
            self.require(user, f"/nodes/{node}", "Sys.AccessNetwork")
        if "import" not in self._active_store(storage, node)["content"].split(","):
            raise refuse(f"storage '{storage}' is not configured for content-type 'import'")
        kept = self._imported(node, storage)
        if values["filename"] in kept:
            raise refuse(f"refusing to override existing file '{values['filename']}'")
        # Another download of the same file, which begins meanwhile, comes too late.
        file = kept[values["filename"]] = {"size": 0, "ctime": int(time.time())}

        async def body():
            try:
                content = await self._fetch(values["url"])
                digest = hashlib.new(values["checksum-algorithm"], content).hexdigest() if values.get("checksum") else None
                if digest != values.get("checksum"):
                    raise refuse(f"checksum mismatch: got '{digest}' expect '{values['checksum']}'")
                file["size"] = len(content)
            except PveError as error:
                del kept[values["filename"]]
                raise TaskError(error.message) from error
        return ok(await self.task(node, "download", values["filename"], user, body))

    async def _content_list(self, values, user):
        found = await super()._content_list(values, user)
        if values.get("content") in (None, "import"):
            found += [{"volid": f"{values['storage']}:import/{name}", "content": "import", "format": "qcow2", **file}
                      for name, file in sorted(self._imported(values["node"], values["storage"]).items())]
        return found

    async def _content_delete(self, values, user):
        storage, _, volume = values["volume"].rpartition(":")
        if not volume.startswith("import/"):
            return await super()._content_delete(values, user)
        storage = storage or values["storage"]
        self.require(user, f"/storage/{storage}", "Datastore.Allocate")

        async def body():
            self._imported(values["node"], storage).pop(volume.removeprefix("import/"), None)
        return await self.task(values["node"], "imgdel", storage, user, body)

    # Virtual machines.

    def _check_root(self, user, options):
        for name in options:
            raw_device = re.fullmatch(r"hostpci\d+", name) and "mapping=" not in str(options[name])
            if user != "root@pam" and (name in ROOT_ALONE or raw_device):
                raise refuse(f"only root can set '{name}' config")
            if re.fullmatch(r"hostpci\d+", name) and not raw_device:
                self.require(user, f"/mapping/pci/{properties(options[name])['mapping']}", "Mapping.Use")

    async def _qm_create(self, values, user):
        number = int(values["vmid"])
        self._check_root(user, values)
        for name in (name for name in values if DRIVE_KEY.match(name)):
            source = split_drive(values[name])[1].get("import-from")
            if source:
                storage, _, volume = source.partition(":")
                file = self._imported(values["node"], storage).get(volume.removeprefix("import/"))
                if file is None:
                    raise refuse(f"volume '{source}' does not exist on {values['node']}")
                self.sources[number, name] = source, file["size"]
        return await super()._qm_create(values, user)

    def _qm_new_drive(self, vmid, key, value, default):
        volume, options = split_drive(value)
        storage = volume.partition(":")[0]
        if volume.endswith(":cloudinit"):
            name = f"vm-{vmid}-cloudinit"
            self.storages[storage]["volumes"][name] = {
                "content": "images", "format": "raw", "size": CLOUD_INIT_BYTES, "vmid": vmid, "ctime": int(time.time())}
            return join_drive(f"{storage}:{name}", {**options, "media": "cdrom", "size": "4M"}), [f"{storage}:{name}"]
        if options.pop("import-from", None):
            source, size = self.sources.pop((vmid, key))
            made, _ = self._qm_alloc(storage, vmid, options.pop("format", None), size)
            # The test reads it, since there is no content.
            self._qm_volume(made)["notes"] = source
            return join_drive(made, {**options, "size": format_size(size)}), [made]
        return super()._qm_new_drive(vmid, key, value, default)

    async def _resize(self, values, user):
        vm = self.find(values["node"], values["vmid"])
        self.require(user, f"/vms/{vm.vmid}", "VM.Config.Disk")
        disk = values["disk"]
        if disk not in vm.config:
            raise refuse(f"disk '{disk}' does not exist")
        volume, options = split_drive(vm.config[disk])
        kept = self._qm_volume(volume)
        wanted = str(values["size"])
        size = in_bytes(wanted.removeprefix("+")) + (kept["size"] if wanted.startswith("+") else 0)
        if size < kept["size"]:
            raise refuse("shrinking disks is not supported")

        async def body():
            kept["size"] = size
            vm.config[disk] = join_drive(volume, {**options, "size": format_size(size)})
        return await self.task(vm.node, "resize", vm.vmid, user, body, vm=vm)

    @staticmethod
    def _effective(vm):
        """The options that the machine has after its next start."""
        both = {**vm.config, **vm.pending}
        return {name: value for name, value in both.items() if value is not None}

    async def _config_get(self, request):
        vm = self._vm(request, "VM.Audit")
        values = self._verify(request, await params(request))
        shown = dict(vm.config if values.get("current") else self._effective(vm))
        if "memory" in shown:
            shown["memory"] = str(shown["memory"])  # it is a property string on Proxmox
        return ok({**shown, "digest": vm.digest()})

    async def _config_put(self, request):
        vm, user = self._vm(request), request[USER]
        values = self._verify(request, await params(request))
        changes = {name: value for name, value in values.items() if name not in ("node", "vmid")}
        deleted = [name for name in str(changes.get("delete") or "").split(",") if name]
        before = self._effective(vm)
        self._check_root(user, {**{name: before.get(name, "") for name in deleted}, **changes})
        for name in changes:
            if DRIVE_KEY.match(name):
                # Proxmox writes the size that the volume has.
                volume, options = split_drive(changes[name])
                kept = self._qm_volume(volume)
                if kept:
                    changes[name] = join_drive(volume, {**options, "size": format_size(kept["size"])})
        nics = [name for name in changes if re.fullmatch(r"net\d+", name)]
        for name in nics:
            changes[name] = with_mac(changes[name])
            why = self._no_bridge(vm, changes[name])
            if vm.status == "running" and why:
                raise PveError(400, "Parameter verification failed.", {name: f"hotplug problem - {why}"})
        await self._apply_config(vm, user, changes)
        # What is as it was does not wait.
        for name, value in list(vm.pending.items()):
            if value is not None and properties(value) == properties(vm.config.get(name, "")):
                del vm.pending[name]
        # NICs are plugged in and out while the machine runs.
        for name in [name for name in vm.pending if re.fullmatch(r"net\d+", name)]:
            value = vm.pending.pop(name)
            if value is None:
                vm.config.pop(name, None)
            else:
                vm.config[name] = value
        return ok()

    async def _do_start(self, vm, user, p):
        vm.start_error = self._why_not(vm)
        return await super()._do_start(vm, user, p)

    def _no_bridge(self, vm, nic):
        bridge = properties(nic).get("bridge")
        return None if bridge in self.hosts[vm.node]["bridges"] else f"bridge '{bridge}' does not exist"

    def _why_not(self, vm):
        """Why the machine cannot start on its host, or nothing."""
        options = self._effective(vm)
        numa_memory = 0
        for name, value in sorted(options.items()):
            why = None
            if re.fullmatch(r"net\d+", name):
                why = self._no_bridge(vm, value)
            elif re.fullmatch(r"numa\d+", name):
                node = properties(value)
                numa_memory += int(node["memory"])
                if int(node.get("hostnodes", 0)) >= self.hosts[vm.node]["numa_nodes"]:
                    why = f"host NUMA node{node['hostnodes']} doesn't exist"
            elif re.fullmatch(r"hostpci\d+", name):
                why = self._no_device(vm, options, value)
            if why:
                return why
        if options.get("hugepages") and not options.get("numa"):
            return "numa needs to be enabled to use hugepages"
        if numa_memory and numa_memory != int(options["memory"]):
            return "total memory for NUMA nodes must be equal to vm static memory"
        return None

    def _no_device(self, vm, options, value):
        wanted = properties(value)
        if wanted.get("pcie") == "1" and not str(options.get("machine", "")).startswith("q35"):
            return "q35 machine model is not enabled"
        paths = self._paths(vm.node, wanted.get("mapping"))
        if not paths:
            return f"no PCI mapping '{wanted.get('mapping')}' for node '{vm.node}'"
        devices = {device["path"]: device for device in self.hosts[vm.node]["devices"]}
        for mapped in paths:
            device = devices.get(mapped["path"])
            if device is None:
                return f"PCI device mapping invalid (hardware probably changed): no device '{mapped['path']}'"
            for name in ("id", "iommugroup", "subsystem-id"):
                if str(device.get(name)) != str(mapped.get(name)):
                    return (f"PCI device mapping invalid (hardware probably changed): '{name}' does not match "
                            f"for '{mapped['path']}' ({mapped.get(name)} != {device.get(name)})")
        for other in self.vms:
            if other is vm or other.node != vm.node or other.status != "running":
                continue
            for name, used in other.config.items():
                if not re.fullmatch(r"hostpci\d+", name):
                    continue
                if any(path in paths for path in self._paths(vm.node, properties(used).get("mapping"))):
                    return f"PCI device '{paths[0]['path']}' already in use by VMID '{other.vmid}'"
        return None

    def _paths(self, node, mapping):
        found = [properties(device) for device in self.mappings.get(mapping, {"map": []})["map"]]
        return [device for device in found if device["node"] == node]


async def main(description):
    hosts = Hosts(description)
    await hosts.start(description["certificate"], description["key"])
    print(hosts.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        asyncio.run(main(json.load(file)))
