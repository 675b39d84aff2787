variable "cluster_name" {
  description = "Name of the cluster; it begins the names of the virtual machines. Example: \"nfv-lab\"."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,29}$", var.cluster_name))
    error_message = "cluster_name begins with a letter and has at most 30 lower case letters, digits and '-'."
  }
}

variable "nodes" {
  description = <<-EOT
    The cluster's machines by name. Adding or removing one changes no other.

    - `host`: the Proxmox host that runs the machine.
    - `role`: `controlplane` or `worker`.
    - `address`: IPv4 address with prefix length, set by cloud-init. Example: "192.0.2.11/24".
    - `cpus`: vCPUs, of the host's own CPU type.
    - `cpu_affinity`: the host's CPUs that the machine's threads may use, its vCPUs and its I/O:
      whole cores of one NUMA node, as many as `cpus`. Proxmox gives no vCPU a core to itself.
      Example: "8-15". Absent: any. Needs root@pam with a password.
    - `memory_mib`: memory, multiple of 1024.
    - `hugepages_mib`: size of the host's pages that back the memory, 2 or 1024. Absent:
      ordinary pages. Needs root@pam with a password.
    - `numa_node`: the host's NUMA node of memory and CPUs. Absent: none is asked for.
    - `disk_gib`: size of the disk with Talos.
    - `datastore`: the datastore of the disk. Absent: var.datastore.
    - `traffic_bridges`: further virtio NICs, one on each of these bridges of the host, with
      as many queues as there are vCPUs. Example: ["vmbr10", "vmbr11"].
    - `pci_mappings`: names of hardware mappings (var.pci_mappings, or the datacenter's own)
      that are passed through: whole NICs, or VFs that the host has made. The NIC inside the
      machine makes no VFs: QEMU hides that it can.
    - `start_order`: machines with a lower number start first.
    - `labels`: node labels. `vnfbench.io/role` = "generator" or "device" is what Testbeds select by.
    - `measurement`: what makes the node quiet; see the module `cluster`. Its arguments of the
      kernel are in the machine's image; see the module `images`.
    - `config_patches`: further patches of this machine's configuration; see the module `cluster`.
  EOT
  type = map(object({
    host            = string
    role            = string
    address         = string
    cpus            = number
    cpu_affinity    = optional(string)
    memory_mib      = number
    hugepages_mib   = optional(number)
    numa_node       = optional(number)
    disk_gib        = optional(number, 32)
    datastore       = optional(string)
    traffic_bridges = optional(list(string), [])
    pci_mappings    = optional(list(string), [])
    start_order     = optional(number, 10)
    labels          = optional(map(string), {})
    measurement = optional(object({
      reserved_cpus       = string
      isolated_cpus       = string
      hugepages_2mi       = optional(number, 0)
      hugepages_1gi       = optional(number, 0)
      reserved_memory_mib = optional(number, 1024)
    }))
    config_patches = optional(list(string), [])
  }))

  validation {
    condition     = length([for n in var.nodes : n if n.role == "controlplane"]) % 2 == 1
    error_message = "nodes needs an odd number of machines with role \"controlplane\": etcd decides by majority."
  }
  validation {
    condition     = alltrue([for n in var.nodes : contains(["controlplane", "worker"], n.role)])
    error_message = "role of each of nodes is \"controlplane\" or \"worker\"."
  }
  validation {
    condition     = alltrue([for name in keys(var.nodes) : can(regex("^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$", name))])
    error_message = "Names of nodes have at most 30 lower case letters, digits and '-'."
  }
  validation {
    condition     = alltrue([for n in var.nodes : can(cidrhost(n.address, 0)) && !strcontains(n.address, ":")])
    error_message = "address of each of nodes is an IPv4 address with its prefix length, such as 192.0.2.11/24."
  }
  validation {
    condition     = length(distinct([for n in var.nodes : split("/", n.address)[0]])) == length(var.nodes)
    error_message = "Two of nodes have the same address."
  }
  validation {
    condition     = alltrue([for n in var.nodes : n.cpus >= 2 && n.cpus <= 256 && floor(n.cpus) == n.cpus])
    error_message = "cpus of each of nodes is a whole number from 2 to 256: Talos needs two."
  }
  validation {
    condition     = alltrue([for n in var.nodes : n.memory_mib >= 2048 && n.memory_mib % 1024 == 0])
    error_message = "memory_mib of each of nodes is a multiple of 1024, at least 2048."
  }
  validation {
    condition     = alltrue([for n in var.nodes : n.hugepages_mib == null ? true : contains([2, 1024], n.hugepages_mib)])
    error_message = "hugepages_mib of nodes is 2 or 1024, or absent."
  }
  validation {
    condition     = alltrue([for n in var.nodes : n.cpu_affinity == null ? true : can(regex("^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$", n.cpu_affinity))])
    error_message = "cpu_affinity of nodes is a list of CPUs such as \"8-15\" or \"8-11,24-27\"."
  }
  validation {
    # Each machine's list is unrolled and counted: with fewer CPUs vCPUs take turns, and figures scatter.
    condition = alltrue([for n in var.nodes : n.cpu_affinity == null ? true : try(sum([
      for part in split(",", n.cpu_affinity) : tonumber(element(split("-", part), length(split("-", part)) - 1)) - tonumber(split("-", part)[0]) + 1
    ]) == n.cpus, false)])
    error_message = "cpu_affinity of nodes names as many CPUs of the host as cpus says: vCPUs that share fewer are not fit for measurement."
  }
  validation {
    condition     = alltrue([for n in var.nodes : length(n.pci_mappings) <= 16 && length(n.traffic_bridges) <= 31])
    error_message = "A virtual machine takes at most 16 pci_mappings and 31 traffic_bridges."
  }
}

variable "datastore" {
  description = "Datastore of disks and cloud-init drives, on every host. Example: \"local-lvm\"."
  type        = string
  default     = "local-lvm"

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$", var.datastore))
    error_message = "datastore is the id of a storage, a letter and then letters, digits, '.', '_' and '-', such as local-lvm."
  }
}

variable "image_datastore" {
  description = "Datastore that takes the Talos image; its content types must include Import. Example: \"local\"."
  type        = string
  default     = "local"

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$", var.image_datastore))
    error_message = "image_datastore is the id of a storage, a letter and then letters, digits, '.', '_' and '-', such as local."
  }
}

variable "management_bridge" {
  description = "Bridge of the first NIC, with the cluster's own network. Example: \"vmbr0\"."
  type        = string
  default     = "vmbr0"

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{1,15}$", var.management_bridge))
    error_message = "management_bridge is the name of a bridge, at most 15 letters, digits, '.', '_' and '-', such as vmbr0."
  }
}

variable "management_vlan" {
  description = "VLAN of the first NIC. Absent: untagged. Example: 20."
  type        = number
  default     = null

  validation {
    condition     = var.management_vlan == null ? true : var.management_vlan >= 1 && var.management_vlan <= 4094
    error_message = "management_vlan is 1 to 4094, or absent."
  }
}

variable "gateway" {
  description = "Default gateway of the cluster's own network. Example: \"192.0.2.1\"."
  type        = string

  validation {
    condition     = can(cidrhost("${var.gateway}/32", 0))
    error_message = "gateway is an IPv4 address, such as 192.0.2.1."
  }
}

variable "dns_servers" {
  description = "Name servers of the machines. Example: [\"192.0.2.1\"]."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for server in var.dns_servers : can(cidrhost("${server}/32", 0))])
    error_message = "dns_servers are IP addresses, not names, such as [\"192.0.2.1\"]."
  }
}

variable "pci_mappings" {
  description = <<-EOT
    Hardware mappings to make, by name: for each Proxmox host the device's PCI address
    (`path`), its vendor and device id, its IOMMU group, and the vendor's and device's id of its
    subsystem (null: the device has none). Proxmox compares all of them with the device when a
    machine starts. `pvesh get /nodes/HOST/hardware/pci` and `lspci -nnks ADDRESS` show them.
    A mapping can be used without root@pam.
    Example: { west = { pve1 = { path = "0000:03:00.0", id = "8086:1572", iommu_group = 33, subsystem_id = "8086:0001" } } }.
  EOT
  type = map(map(object({
    path         = string
    id           = string
    iommu_group  = number
    subsystem_id = string
  })))
  default = {}

  validation {
    condition     = alltrue(flatten([for hosts in var.pci_mappings : [for d in hosts : can(regex("^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$", d.path))]]))
    error_message = "path of pci_mappings is a PCI address, such as 0000:03:00.0."
  }
  validation {
    condition     = alltrue(flatten([for hosts in var.pci_mappings : [for d in hosts : can(regex("^[0-9a-f]{4}:[0-9a-f]{4}$", d.id))]]))
    error_message = "id of pci_mappings is vendor and device, such as 8086:1572."
  }
  validation {
    condition     = alltrue(flatten([for hosts in var.pci_mappings : [for d in hosts : d.subsystem_id == null ? true : can(regex("^[0-9a-f]{4}:[0-9a-f]{4}$", d.subsystem_id))]]))
    error_message = "subsystem_id of pci_mappings is vendor and device of the subsystem, such as 8086:0001, or null where the device has none."
  }
}

variable "talos_version" {
  description = "Version of Talos. Example: \"v1.13.0\"."
  type        = string

  validation {
    condition     = can(regex("^v1\\.[0-9]+\\.[0-9]+$", var.talos_version))
    error_message = "talos_version is v1.MINOR.PATCH, such as v1.13.0."
  }
}

variable "images" {
  description = <<-EOT
    Each machine's image by its name: the output `images` of the module `images` for the platform "nocloud".
    Example: { cp-1 = { class = "3e7c4b6a9f01", disk_image = "https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.0/nocloud-amd64.raw.xz",
    installer = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.13.0" } }.
  EOT
  type = map(object({
    class      = string
    disk_image = string
    installer  = string
  }))

  validation {
    condition     = length(setsubtract(keys(var.nodes), keys(var.images))) == 0
    error_message = "images lacks one of nodes: give the output of the module images for the same machines."
  }
  validation {
    condition     = alltrue([for image in var.images : can(regex("^[0-9a-f]{12}$", image.class))])
    error_message = "class of images is 12 hexadecimal digits, as the module images makes it."
  }
}

variable "image_checksums" {
  description = "SHA-256 of Talos' disk images (.qcow2) by their class, 64 hexadecimal digits. A class that is absent is downloaded without a check. Example: { \"3e7c4b6a9f01\" = \"8f94790fbbbe7f01ef8741f161b811aa296f96f455c1451b4debda2efa0e9038\" }."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for sum in var.image_checksums : can(regex("^[0-9a-f]{64}$", sum))])
    error_message = "Each of image_checksums is a SHA-256: 64 hexadecimal digits."
  }
}

variable "image_host" {
  description = "Host that downloads each image for all of them, where they share image_datastore, such as NFS. Absent: each host downloads into its own. Example: \"pve1\"."
  type        = string
  default     = null

  validation {
    condition     = var.image_host == null ? true : can(regex("^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$", var.image_host))
    error_message = "image_host is the name of a Proxmox host, such as pve1."
  }
}

variable "restart_on_change" {
  description = "Whether a machine is stopped and started at once when its CPUs, memory, disk or devices change. It is stopped hard, without a drain, and all that change at the same time. Otherwise Proxmox keeps the change until you restart the machine: drain one after another."
  type        = bool
  default     = false
}
